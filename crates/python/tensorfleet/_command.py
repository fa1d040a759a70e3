"""The command `tensorfleet`: the same program as cargo's, from the same native code."""

import os
import signal
import sys


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        from tensorfleet._run import run

        run(arguments[1:])
        return
    from tensorfleet._native import run_command

    # Python's own handling would only be looked at when the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    code = run_command(["tensorfleet", *arguments], [sys.executable, "-m", "tensorfleet"])
    sys.stdout.flush()
    # Nothing of Python's is left to tidy up.
    os._exit(code)


if __name__ == "__main__":
    main()
