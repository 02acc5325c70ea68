"""Checks the manifests of docs/scale: Kubernetes' schemas, those of Compose, and NATS itself.

usage: manifests.py FOLDER; `cargo xtask judge manifests` has the packages that it needs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import yaml
from compose_spec import PyCompose
from kubernetes_validate import validate

VERSION = "1.37"


def kubernetes(path):
    documents = [one for one in yaml.safe_load_all(path.read_text()) if one]
    for one in documents:
        validate(one, VERSION, strict=True)
    return documents


def compose(path):
    # Also the names of volumes, networks, configurations and secrets.
    PyCompose.from_yaml(path.read_text()).validate()
    file = yaml.safe_load(path.read_text())
    for service in file["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source.startswith((".", "/")) or source in file["volumes"], volume


def nats(text):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "nats.conf")
        config.write_text(text)
        program = pathlib.Path(sys.executable).with_name("nats-server")
        words = [program, "--config", config, "-t"]
        done = subprocess.run(words, env={**os.environ, "POD_NAME": "haft-nats-0"}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def names(documents):
    """Checks that each name of another resource is that of one."""
    known = {(one["kind"], one["metadata"]["name"]) for one in documents}
    # Made by the commands at the beginning of the file.
    known |= {("Secret", "haft"), ("ConfigMap", "haft-tools")}
    for one in documents:
        template = one.get("spec", {}).get("template", {})
        pod = template.get("spec", {})
        if template:
            assert one["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"], one["metadata"]
        for volume in pod.get("volumes", []):
            assert ("ConfigMap", volume["configMap"]["name"]) in known, volume
        for container in pod.get("containers", []):
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            volumes |= {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", [])}
            for mount in container["volumeMounts"]:
                assert mount["name"] in volumes, mount
            for variable in container["env"]:
                secret = variable.get("valueFrom", {}).get("secretKeyRef")
                assert not secret or ("Secret", secret["name"]) in known, variable
        labels = one.get("spec", {}).get("selector", {})
        labels = labels.get("matchLabels", labels) if one["kind"] != "ConfigMap" else {}
        if one["kind"] in ("Service", "PodDisruptionBudget"):
            pods = [other["spec"]["template"]["metadata"]["labels"] for other in documents
                    if "template" in other.get("spec", {})]
            assert labels in pods, labels


def main():
    folder = pathlib.Path(sys.argv[1])
    documents = kubernetes(folder / "kubernetes.yaml")
    names(documents)
    compose(folder / "compose.yaml")
    nats(next(one for one in documents if one["kind"] == "ConfigMap")["data"]["nats.conf"])
    print(f"{len(documents)} resources and the Compose file are valid")


main()
