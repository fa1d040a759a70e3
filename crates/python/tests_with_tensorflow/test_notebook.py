"""The notebook of the documents, executed cell by cell as Jupyter would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parents[3] / "docs" / "tutorial.ipynb"

# Jupyter runs each cell in one namespace; what begins with % is Jupyter's own.
RUNNER = """
import json, sys
cells = json.load(sys.stdin)
namespace = {"__name__": "__main__"}
for number, source in enumerate(cells):
    exec(compile(source, f"cell {number}", "exec"), namespace)
print("loss", *namespace["history"])
print("accuracy", namespace["accuracy"])
"""


def test_the_notebook_trains_a_model():
    notebook = json.loads(NOTEBOOK.read_text())
    assert notebook["nbformat"] == 4
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert code[0].startswith("%pip install")
    cells = [re.sub(r"^%.*$", "", source, flags=re.MULTILINE) for source in code]
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(cells),
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    *_, loss, accuracy = done.stdout.splitlines()
    losses = [float(word) for word in loss.split()[1:]]
    assert losses[-1] < losses[0] / 2, done.stdout
    assert float(accuracy.split()[1]) > 0.85, done.stdout
    assert "restored: True" in done.stdout
