"""What lies in deploy/ fits the binary: its files parse, their flags are known, tasks start from what they set.

No cluster manager takes part, so what only one can say (schemas, admission) is not tested here.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest
import requests

from conformance.rig import ports, servers
from conformance.test_dashboard import http_address
from conformance.rig.fleet import Process, command, run

try:
    import yaml
except ImportError:
    yaml = None

pytestmark = [
    pytest.mark.ours("TensorFlow's server has other flags"),
    pytest.mark.needs(yaml is not None, "PyYAML"),
]

DEPLOY = servers.ROOT / "deploy"
FILES = sorted(DEPLOY.rglob("*.yaml"))


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


def dictionaries(value):
    """All objects within a document, itself included."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from dictionaries(each)


def command_lines():
    """Every command line of ours in deploy/, with where it stands."""
    for path in FILES:
        for document in documents(path):
            for each in dictionaries(document):
                for line in (each.get("args"), each.get("command")):
                    if isinstance(line, list) and line and line[0] in ("serve", "proxy"):
                        yield path.name, line
    unit = (DEPLOY / "systemd" / "tensorfleet@.service").read_text()
    start = re.search(r"^ExecStart=\S+/tensorfleet (.*)$", unit, re.M).group(1)
    example = re.search(r"ARGUMENTS=(.*)$", unit, re.M).group(1)
    yield "tensorfleet@.service", shlex.split(start.replace("$ARGUMENTS", example))
    script = (DEPLOY / "slurm" / "train.sbatch").read_text().replace("\\\n", " ")
    for line in re.findall(r"\btensorfleet ((?:serve|proxy|certs) .*)$", script, re.M):
        yield "train.sbatch", shlex.split(line)


def test_every_flag_is_known():
    lines = list(command_lines())
    assert len(lines) >= 12
    for where, line in lines:
        # What stands for a number becomes one.
        line = [re.sub(r"\$\(TASK_INDEX\)|\$task|\$number", "0", word) for word in line]
        done = subprocess.run(command(*line, "--help"), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "Usage:" in done.stdout, (where, line, done.stdout)


def test_every_file_parses_and_names_what_is_there():
    for path in FILES:
        assert documents(path), path
        if path.name == "kustomization.yaml":
            (kustomization,) = documents(path)
            named = kustomization["resources"] + [patch["path"] for patch in kustomization.get("patches", [])]
            named += [name for made in kustomization.get("configMapGenerator", []) for name in made["files"]]
            for name in named:
                assert (path.parent / name).exists(), (path, name)
    compose = documents(DEPLOY / "compose" / "compose.yaml")[0]
    mounts = [volume for service in compose["services"].values() for volume in service.get("volumes", [])]
    for mount in (mount.split(":")[0] for mount in mounts):
        if mount.startswith("."):
            assert (DEPLOY / "compose" / mount).is_file(), mount
    subprocess.run(["bash", "-n", str(DEPLOY / "slurm" / "train.sbatch")], check=True)


def base():
    return [document for path in sorted((DEPLOY / "kubernetes" / "base").glob("*.yaml")) for document in documents(path)]


def test_the_cluster_of_the_manifests_is_that_of_their_services_and_certificates():
    cluster = json.loads((DEPLOY / "kubernetes" / "base" / "cluster.json").read_text())
    kinds = lambda kind: {each["metadata"]["name"]: each for each in base() if each["kind"] == kind}
    certificates = kinds("Certificate")
    for job, addresses in cluster.items():
        tasks = kinds("StatefulSet")[job]["spec"]
        assert tasks["replicas"] == len(addresses) and tasks["serviceName"] in kinds("Service")
        mounted = {source["secret"]["name"] for volume in tasks["template"]["spec"]["volumes"] if volume["name"] == "tls" for source in volume["projected"]["sources"]}
        for index, address in enumerate(addresses):
            host = address.split(":")[0]
            assert host == f"{job}-{index}.{tasks['serviceName']}.tensorfleet.svc"
            certificate = certificates[f"tensorfleet-{job}-{index}"]["spec"]
            assert certificate["uris"] == [f"tensorfleet://tensorfleet/peer/{job}/{index}"]
            assert host in certificate["dnsNames"] and certificate["secretName"] in mounted
        labels = tasks["template"]["metadata"]["labels"]
        selected = kinds("PodDisruptionBudget")[job]["spec"]["selector"]["matchLabels"]
        assert selected.items() <= labels.items()
        assert kinds("NetworkPolicy")["tensorfleet"]["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        (container,) = tasks["template"]["spec"]["containers"]
        grace = int(next(word for word in container["args"] if word.startswith("--grace=")).split("=")[1])
        assert grace < tasks["template"]["spec"]["terminationGracePeriodSeconds"]


@pytest.fixture
def started(tmp_path):
    processes = []

    def start(*arguments):
        processes.append(Process(tmp_path, *arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


def get(address):
    with requests.Session() as http:
        http.trust_env = False
        return http.get(address, timeout=60)


def test_a_pod_of_the_manifests_serves(started, tmp_path):
    """The arguments of the ps, with what Kubernetes and cert-manager would put into them and beside them."""
    run(tmp_path, "certs", "init", "--cluster", "tensorfleet")
    run(tmp_path, "certs", "issue", "--job", "ps", "--task", 0, "--host", "localhost")
    port = ports.reserve()
    (tmp_path / "cluster.json").write_text(json.dumps({"ps": [f"localhost:{port}"], "worker": ["localhost:1"]}))
    (ps,) = [each for each in base() if each["kind"] == "StatefulSet" and each["metadata"]["name"] == "ps"]
    (container,) = ps["spec"]["template"]["spec"]["containers"]
    there = {
        "/etc/tensorfleet/cluster/cluster.json": "cluster.json",
        "/etc/tensorfleet/tls/$(POD_NAME)/tls.crt": "certs/ps-0.pem",
        "/etc/tensorfleet/tls/$(POD_NAME)/tls.key": "certs/ps-0-key.pem",
        "/etc/tensorfleet/tls/ca.crt": "certs/ca.pem",
        "$(TASK_INDEX)": "0",
        "0.0.0.0:2222": f"127.0.0.1:{port}",
        "0.0.0.0:9100": "127.0.0.1:0",
        "=/data": "=data",
    }
    arguments = container["args"]
    for manifest, here in there.items():
        assert any(manifest in argument for argument in arguments), manifest
        arguments = [argument.replace(manifest, here) for argument in arguments]
    arguments = [argument for argument in arguments if not argument.startswith("--log_format")]
    process = started(*arguments)
    assert process.target == f"grpcs://localhost:{port}"
    address = http_address(process)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert get(address.rstrip("/") + container[probe]["httpGet"]["path"]).status_code == 200


def test_a_parameter_server_of_a_tfjob_serves(started, monkeypatch):
    (job,) = documents(DEPLOY / "kubeflow" / "tfjob.yaml")
    replicas = job["spec"]["tfReplicaSpecs"]
    # As the operator writes it.
    cluster = {kind.lower(): [f"127.0.0.1:{ports.reserve()}" for _ in range(spec["replicas"])] for kind, spec in replicas.items()}
    told = {"cluster": cluster, "task": {"type": "ps", "index": 1}, "environment": "cloud"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(told))
    (container,) = replicas["PS"]["template"]["spec"]["containers"]
    assert container["name"] == "tensorflow"
    arguments = [word.replace("0.0.0.0:2222", cluster["ps"][1]).replace("0.0.0.0:9100", "127.0.0.1:0") for word in container["args"]]
    assert started(*arguments).target == f"grpc://{cluster['ps'][1]}"


def test_dashboards_and_alerts_use_metrics_that_there_are(started):
    process = started("serve", '--cluster={"worker": ["127.0.0.1:0"]}', "--http=0")
    text = get(http_address(process) + "metrics").text
    known = set(re.findall(r"^# TYPE (\w+)", text, re.M)) | {"up"}
    board = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    rules = documents(DEPLOY / "monitoring" / "alerts.yaml")[0]["groups"][0]["rules"]
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [rule["expr"] for rule in rules]
    used = {name for expression in expressions for name in re.findall(r"\btensorfleet_\w+|\bup\b", expression)}
    assert used <= known


def test_a_slurm_script_places_tasks_as_it_says(tmp_path):
    """The script, with stand-ins for Slurm's commands and our binary that write down how they are called."""
    bin = tmp_path / "bin"
    bin.mkdir()
    called = tmp_path / "called"
    stand_ins = {
        "scontrol": "printf 'n%s\\n' 0 1 2",
        "srun": 'while [ "$1" != bash ]; do shift; done; for id in 0 1 2; do SLURM_PROCID=$id "$@"; done',
        "tensorfleet": f'echo "$@" >> {shlex.quote(str(called))}; [ "$1" != proxy ] || {{ echo grpc://127.0.0.1:5; read -r _; }}',
    }
    for name, body in stand_ins.items():
        (bin / name).write_text(f"#!/bin/bash\n{body}\n")
        (bin / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-2]", "SLURM_SUBMIT_DIR": str(tmp_path)}
    script = [str(DEPLOY / "slurm" / "train.sbatch"), "bash", "-c", "echo program at $TENSORFLEET_TARGET"]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == "program at grpc://127.0.0.1:5", done.stderr
    lines = called.read_text().splitlines()
    issued = [line for line in lines if line.startswith("certs issue --job")]
    assert issued == [f"certs issue --job {job} --task {task} --host n{node}" for node, (job, task) in enumerate([("ps", 0), ("worker", 0), ("worker", 1)])]
    wanted = {("ps", 0), ("worker", 0), ("worker", 1)}
    seen = set()
    for line in lines:
        if found := re.match(r"serve --ps=n0:2222 --worker=n1:2222,n2:2222 --job_name=(\w+) --task_index=(\d)", line):
            seen.add((found.group(1), int(found.group(2))))
    # The program may be done before the last task has begun.
    assert seen <= wanted
    assert any(line.startswith("proxy --target=grpcs://n1:2222") for line in lines)
