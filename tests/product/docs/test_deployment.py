"""The files for containers, systemd, Kubernetes and other schedulers hold together, and their command lines do what
docs/schedulers.md says. No Docker engine, cluster, Airflow, Dagster or Prefect is needed, or started, here."""

import ast
import datetime as dt
import fnmatch
import importlib.metadata
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconcile.config import load
from reconcile.service.listener import Listener
from reconcile.service.routes import health
from tests.support.docs import ROOT, tree_of

EXAMPLES = ROOT / "examples"
PROGRAM = Path(sys.executable).with_name("reconcile")
DOCKERFILE = (EXAMPLES / "docker" / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((EXAMPLES / "docker" / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS = [
    item
    for name in ("deployment.yaml", "cronjob.yaml")
    for item in yaml.safe_load_all((EXAMPLES / "kubernetes" / name).read_text(encoding="utf-8"))
]
GRACE_STOP = 30
PYTHON_SCHEDULERS = ("airflow", "dagster", "prefect")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The shop with a job `nightly`, in Berlin."""
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLES / "shop", folder, ignore=shutil.ignore_patterns("*.db*", "*.sqlite", "messages.txt"))
    subprocess.run([sys.executable, "build.py"], cwd=folder, check=True, capture_output=True)
    with (folder / "reconcile.yaml").open("a", encoding="utf-8") as file:
        file.write("\ntimezone: Europe/Berlin\njobs:\n  nightly: {rules: all}\n")
    return folder


# Containers


def instructions(stage: int) -> list[tuple[str, str]]:
    """The instructions of a stage of the Dockerfile, lines that go on put together."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    stages = re.split(r"^(?=FROM )", text, flags=re.MULTILINE)
    collected = [line.split(None, 1) for line in stages[stage].splitlines() if line.strip()]
    return [(word, " ".join(rest.split())) for word, rest in collected]


def only(stage: int, word: str) -> str:
    [output] = [rest for instruction, rest in instructions(stage) if instruction == word]
    return output


def test_the_image_runs_as_a_number_that_is_not_root_stops_on_sigterm_and_needs_no_shell() -> None:
    assert only(-1, "USER") == "10001:10001"
    assert only(-1, "STOPSIGNAL") == "SIGTERM"
    assert json.loads(only(-1, "ENTRYPOINT")) == ["reconcile"]
    assert json.loads(only(-1, "CMD")) == ["serve", "--json"]
    assert only(-1, "VOLUME") == only(-1, "WORKDIR") == "/var/lib/reconcile"
    assert re.search(r"PASSWORD|TOKEN|SECRET|xoxb|://[^ ]*@", DOCKERFILE) is None


def test_everything_that_is_installed_into_the_image_is_locked_by_hash() -> None:
    assert "--require-hashes -r requirements.lock" in DOCKERFILE.replace('", "', " ")
    [names] = re.findall(r"keep = /\^\(([^)]*)\)==/", DOCKERFILE)
    with (ROOT / "pyproject.toml").open("rb") as file:
        build = {re.split(r"[<>=]", require)[0] for require in tomllib.load(file)["build-system"]["requires"]}
    todo, needed = list(build), set[str]()
    while todo:
        name = todo.pop()
        needed.add(name)
        more = [item for item in importlib.metadata.requires(name) or () if ";" not in item]
        todo += {re.split(r"[^\w-]", item)[0].lower() for item in more} - needed
    assert needed <= set(names.split("|"))
    locked = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    assert [word for word in names.split("|") if f"\n{word}==" not in f"\n{locked}"] == []


def test_the_build_sees_what_it_copies_and_no_state_key_or_cache() -> None:
    patterns = [
        item for item in (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n") if item[:1] not in "#"
    ]
    copied = [name for word, rest in instructions(1) if word == "COPY" for name in rest.split()[:-1]]

    assert patterns[0] == "*"
    assert [name for name in copied if f"!{name}" not in patterns or not (ROOT / name).exists()] == []
    left_out = [pattern.removeprefix("**/") for pattern in patterns if pattern.startswith("**/")]
    for name in ("reconcile.db", "reconcile.db-wal", "reconcile.key", "reconcile.db.key", "__pycache__"):
        assert any(fnmatch.fnmatch(name, item) for item in left_out), name


@pytest.mark.parametrize(("silent", "code"), [({}, 0), ({"work": 120.0}, 1)])
def test_the_health_check_of_the_image_is_what_healthz_says(silent: dict[str, float], code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = json.loads(only(-1, "HEALTHCHECK").partition("CMD ")[2])
    listener = Listener(f"127.0.0.1:{port}", {"/healthz": lambda _headers: health(silent)})
    listener.start()
    try:
        command = [word.replace("8321", str(port)) for word in words[1:]]
        environ = {**os.environ, "http_proxy": "http://127.0.0.1:9"}
        ended = subprocess.run([sys.executable, *command], env=environ, check=False, capture_output=True)
    finally:
        listener.stop()

    assert ended.returncode == code


def test_compose_gives_no_service_more_than_it_needs_and_names_only_what_is_there() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert set(service["secrets"]) <= set(COMPOSE["secrets"]), name
        assert set(service["networks"]) <= set(COMPOSE["networks"]), name
        assert set(service.get("depends_on", ())) <= set(COMPOSE["services"]), name
        assert int(service["stop_grace_period"].removesuffix("s")) > GRACE_STOP, name
        named = {volume.split(":")[0] for volume in service["volumes"]}
        assert {item for item in named if not item.startswith("./")} <= set(COMPOSE["volumes"]), name
        assert [item for item in named if item.startswith("./") and not (EXAMPLES / "docker" / item).exists()] == [], (
            name
        )
    text = json.dumps({name: item.get("environment", {}) for name, item in COMPOSE["services"].items()})
    assert re.search(r'(PASSWORD|TOKEN)": ', text) is None  # only …_FILE
    workers = COMPOSE["services"]["worker"]
    assert workers["command"] == ["serve", "--worker", "--json"]
    assert workers["deploy"]["replicas"] == 2
    assert all(worker["condition"] == "service_healthy" for worker in workers["depends_on"].values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a name")
@pytest.mark.slow
def test_a_user_of_a_container_that_has_no_name_decides_under_its_number() -> None:
    code = "import os, pwd; from reconcile.cli import people; os.setuid(47110); print(people.person())"
    environ = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONDONTWRITEBYTECODE")}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.stdout == "uid 47110\n", ended.stderr


def configurations() -> dict[str, str]:
    [config] = [manifest for manifest in MANIFESTS if manifest["kind"] == "ConfigMap"]
    compose = (EXAMPLES / "docker" / "project" / "reconcile.yaml").read_text(encoding="utf-8")
    return {"compose": compose, "kubernetes": config["data"]["reconcile.yaml"]}


@pytest.mark.parametrize("name", configurations())
def test_the_configuration_of_containers_loads_with_secrets_that_are_files(name: str, tmp_path: Path) -> None:
    text = configurations()[name]
    for place in re.findall(r"\$\{file:(/run/secrets/[^}]*)\}", text):
        file = tmp_path / place.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        address = place.endswith("url")
        file.write_text("postgresql://reader:hidden@db.example.com/x\n" if address else "xoxb-1-hidden\n")
    path = tmp_path / "reconcile.yaml"
    path.write_text(text.replace("/run/secrets", str(tmp_path / "run" / "secrets")), encoding="utf-8")

    project = load(path, {})

    assert project.warnings == ()
    assert project.state.get_secret_value().startswith("postgresql://")
    assert project.grace_stop == dt.timedelta(seconds=GRACE_STOP)
    assert project.jobs["nightly"].schedule is not None


# systemd


UNIT = EXAMPLES / "systemd" / "reconcile-serve.service"


def test_the_unit_of_serve_gives_it_time_to_stop_and_is_not_restarted_for_what_a_repeat_cannot_help() -> None:
    text = UNIT.read_text(encoding="utf-8")

    [stop] = re.findall(r"^TimeoutStopSec=(\d+)s$", text, re.MULTILINE)
    assert int(stop) > GRACE_STOP
    assert "\nRestartPreventExitStatus=2 4\n" in text
    assert "\nExecReload=/bin/kill -HUP $MAINPID\n" in text
    assert "\nKillMode=mixed\n" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")
def test_systemd_finds_nothing_wrong_with_the_units_and_little_that_serve_could_do_to_others(tmp_path: Path) -> None:
    for unit in EXAMPLES.glob("systemd/*.*"):
        text = unit.read_text(encoding="utf-8").replace("/opt/reconcile/bin/reconcile", str(PROGRAM))
        (tmp_path / unit.name).write_text(text.replace("=file:///srv", "=file:///usr"), encoding="utf-8")
    units = sorted(str(path) for path in tmp_path.iterdir())

    checked = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", str(tmp_path / UNIT.name)],
        capture_output=True,
        text=True,
        check=False,
    )

    ours = [line for line in checked.stderr.splitlines() if "reconcile" in line]
    assert (ours, checked.returncode) == ([], 0)
    assert rated.returncode == 0, rated.stdout.splitlines()[-1:]  # 1.5 of 10; it was 1.3


# Kubernetes


def pods() -> list[dict[str, Any]]:
    collected = []
    for manifest in MANIFESTS:
        if manifest["kind"] == "Deployment":
            collected.append(manifest["spec"]["template"]["spec"])
        elif manifest["kind"] == "CronJob":
            collected.append(manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"])
    return collected


def test_the_manifests_are_of_kinds_that_exist_and_names_fit_together() -> None:
    kinds = {(manifest["apiVersion"], manifest["kind"]) for manifest in MANIFESTS}
    assert kinds == {
        ("v1", "ConfigMap"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("batch/v1", "CronJob"),
        ("policy/v1", "PodDisruptionBudget"),
    }
    by_kind = {manifest["kind"]: manifest for manifest in MANIFESTS}
    labels = by_kind["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert by_kind["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert by_kind["Service"]["spec"]["selector"].items() <= labels.items()
    assert by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    job = by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    assert not by_kind["Service"]["spec"]["selector"].items() <= job.items()
    for pod in pods():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for container in (*pod["initContainers"], *pod["containers"]):
            assert {volumemount["name"] for volumemount in container["volumeMounts"]} <= set(volumes)
        assert volumes["config"]["configMap"]["name"] == by_kind["ConfigMap"]["metadata"]["name"]
        assert volumes["secrets"]["secret"]["secretName"] == "reconcile"


def test_every_pod_keeps_to_the_restricted_standard_and_has_time_to_stop() -> None:
    for pod in pods():
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert f"{security['runAsUser']}:{security['runAsGroup']}" == only(-1, "USER")
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in (*pod["initContainers"], *pod["containers"]):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]
    serve = pods()[0]
    assert serve["terminationGracePeriodSeconds"] > GRACE_STOP


def test_the_probes_ask_where_the_configuration_says_that_serve_answers() -> None:
    [container] = pods()[0]["containers"]
    config = yaml.safe_load(configurations()["kubernetes"])
    paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}

    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    assert {container[f"{name}Probe"]["httpGet"]["port"] for name in paths} == {container["ports"][0]["name"]}
    assert config["listen"] == f"0.0.0.0:{container['ports'][0]['containerPort']}"


def cron_job(shop: Path, name: str) -> subprocess.CompletedProcess[str]:
    """The CronJob's own command, as a Job of this name would run it."""
    [container] = pods()[1]["containers"]
    [script] = container["args"]
    environ = {**os.environ, "JOB_NAME": name, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    return subprocess.run(
        [*container["command"], script], cwd=shop, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_cron_job_runs_the_slot_it_was_due_at_once_and_one_made_by_hand_runs_now(shop: Path) -> None:
    due = dt.datetime(2026, 11, 21, 5, 15, tzinfo=dt.UTC)
    name = f"reconcile-nightly-{int(due.timestamp()) // 60}"

    first, second, by_hand = (cron_job(shop, item) for item in (name, name, "again-2"))

    assert [item.returncode for item in (first, second, by_hand)] == [0, 0, 0], first.stderr
    told = [json.loads(item.stdout) for item in (first, second, by_hand)]
    assert told[0]["slot"] == told[1]["slot"] == "2026-11-21T05:15:00Z"
    assert told[1]["repeated"] is True
    assert told[2]["run"] != told[0]["run"]


def test_the_cron_job_gives_up_at_the_codes_that_a_repeat_cannot_help() -> None:
    [spec] = [manifest["spec"] for manifest in MANIFESTS if manifest["kind"] == "CronJob"]
    job = spec["jobTemplate"]["spec"]

    assert spec["concurrencyPolicy"] == "Forbid"
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    assert job["podFailurePolicy"]["rules"][0] == {
        "action": "FailJob",
        "onExitCodes": {"containerName": "reconcile", "operator": "In", "values": [1, 2, 4, 70]},
    }


# Airflow, Dagster, Prefect


def command_of(scheduler: str, folder: Path, slot: str) -> list[str]:
    """The COMMAND of the example, for this project and slot."""
    source = (EXAMPLES / scheduler / "reconcile_nightly.py").read_text(encoding="utf-8")
    tree = tree_of(source)
    compile(tree, scheduler, "exec")
    [output] = [
        ast.literal_eval(item.value)
        for item in tree.body
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id == "COMMAND"
    ]
    assert output[0] == "/opt/reconcile/bin/reconcile"
    return [str(PROGRAM), *(word.format(slot=slot) for word in output[1:])]


def ended(scheduler: str, folder: Path, slot: str = "2026-11-21T05:15:00+00:00") -> subprocess.CompletedProcess[str]:
    command = command_of(scheduler, folder, slot)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_all_schedulers_start_the_same_command(shop: Path) -> None:
    commands = {tuple(command_of(scheduler, shop, "S")) for scheduler in PYTHON_SCHEDULERS}

    assert len(commands) == 1, "try each of them in the next test"


@pytest.mark.slow
def test_the_command_of_a_scheduler_runs_a_slot_once_and_ends_with_the_codes_it_acts_on(shop: Path) -> None:
    [scheduler, *_] = PYTHON_SCHEDULERS

    first, second = ended(scheduler, shop), ended(scheduler, shop)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    told, again = json.loads(first.stdout), json.loads(second.stdout)
    assert told["slot"] == "2026-11-21T05:15:00Z"
    assert (again["run"], again["repeated"], told["status"]) == (told["run"], True, "succeeded")
    assert len(told["findings"]) == 2

    (shop / "shop.sqlite").rename(shop / "away.sqlite")
    failed = ended(scheduler, shop, "2026-11-22T05:15:00+00:00")
    (shop / "away.sqlite").rename(shop / "shop.sqlite")
    repeated = ended(scheduler, shop, "2026-11-22T05:15:00+00:00")
    assert (failed.returncode, repeated.returncode) == (3, 0)
    assert json.loads(repeated.stdout)["run"] == json.loads(failed.stdout)["run"]

    with (shop / "reconcile.yaml").open("a", encoding="utf-8") as file:
        file.write("\nnonsense: 1\n")
    assert ended(scheduler, shop).returncode == 2


@pytest.mark.parametrize("scheduler", PYTHON_SCHEDULERS)
def test_a_scheduler_repeats_3_and_stops_the_run_when_it_is_stopped_itself(scheduler: str) -> None:
    source = (EXAMPLES / scheduler / "reconcile_nightly.py").read_text(encoding="utf-8")

    assert "if code == 3:" in source
    assert "except BaseException:\n            process.terminate()" in source
