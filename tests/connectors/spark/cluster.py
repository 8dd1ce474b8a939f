"""A standalone Spark cluster on loopback: a master and workers with one core each, from the pyspark package."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MASTER = "org.apache.spark.deploy.master.Master"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
WORKER = "org.apache.spark.deploy.worker.Worker"

DRIVER = "/usr/share/java/postgresql.jar"
"""PostgreSQL's JDBC driver, where Debian's package libpostgresql-jdbc-java puts it."""


def driver() -> str:
    """The jar of the JDBC driver, or the one that `RECONCILE_TEST_JDBC` names. None: a skip here, a failure in CI."""
    jar = os.environ.get("RECONCILE_TEST_JDBC", DRIVER)
    if not Path(jar).is_file():
        message = f"PostgreSQL's JDBC driver is missing at {jar}; install libpostgresql-jdbc-java"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return jar


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def cluster(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[str]:
    """The address of a cluster, which ends with the block. Raises AssertionError if it does not start."""
    import pyspark  # noqa: PLC0415 - the tests without a cluster run where it is not installed

    home = Path(pyspark.__file__).parent
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    master = [MASTER, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = [WORKER, "--host", "127.0.0.1", "--cores", "1", "--memory", memory, "--webui-port", "0", url]
    processes = []
    with (folder / "cluster.log").open("wb") as log:
        try:
            for number, command in enumerate([master, *[worker] * workers]):
                own = ["--work-dir", str(folder / f"worker{number}")] if number else []
                run = [str(home / "bin" / "spark-class"), command[0], *own, *command[1:]]
                processes.append(subprocess.Popen(run, env=environment, stdout=log, stderr=log))
                if not number:
                    _wait_for(port)
            _wait_for_workers(folder / "cluster.log", workers)
            yield url
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(30)


@contextmanager
def connect(folder: Path, master: str, *options: str) -> Iterator[str]:
    """The address of a Spark Connect server that works on that master; it ends with the block."""
    import pyspark  # noqa: PLC0415 - the tests without a cluster run where it is not installed

    home = Path(pyspark.__file__).parent
    port = free_port()
    own = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
    }
    settings = [part for name, value in own.items() for part in ("--conf", f"{name}={value}")]
    run = [str(home / "bin" / "spark-submit"), "--class", CONNECT, "--master", master, *settings, *options]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "connect.log").open("wb") as log:
        process = subprocess.Popen(run, env=environment, stdout=log, stderr=log, cwd=folder)
        try:
            _wait_for(port)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(port: int, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"no Spark answers at port {port}")


def _wait_for_workers(log: Path, workers: int, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if log.read_text(errors="replace").count("Successfully registered with master") >= workers:
            return
        time.sleep(0.2)
    raise AssertionError("the workers did not register with the Spark master")
