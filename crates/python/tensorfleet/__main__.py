"""`python -m tensorfleet`: the command line, and `run` for programs."""

from tensorfleet._command import main

if __name__ == "__main__":
    main()
