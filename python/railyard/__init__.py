"""Railyard: a discrete-event simulator of GPU clusters that train large models.

    import railyard
    result = railyard.load("scenarios/quickstart.json").run()
    print(result)
    frame = pandas.DataFrame(result.records())       # a row a policy set

    sweep = railyard.load_sweep("scenarios/sweeps/alpha_interval.json").run()
    frame = pandas.DataFrame(sweep.records())        # a row a point and policy set

Names of metrics and of what is known of a job are those of result.json (`railyard list metrics`);
times are seconds, sizes bytes. A scheduler of your own is a class derived from Scheduler.
"""

import json as _json
import os as _os
from typing import Any, Callable, Mapping, Optional, Union

import numpy as _np

from . import _core
from ._core import ConfigError, InternalError, __version__

__all__ = [
    "ConfigError",
    "InternalError",
    "Result",
    "Scenario",
    "Scheduler",
    "Sweep",
    "SweepResult",
    "load",
    "load_sweep",
    "preempt",
    "register_scheduler",
    "reject",
    "start",
    "wake",
    "__version__",
]


Path = Union[str, "_os.PathLike[str]"]
Changes = Optional[Mapping[str, Any]]  #: values by JSON pointer
Record = dict[str, Any]
Arrays = dict[str, _np.ndarray]


def load(path: Path, changes: Changes = None, seed: Optional[int] = None) -> "Scenario":
    """The scenario in a file, decoded and checked; nothing is simulated.

    changes: {JSON pointer: value}, as --set of the command line; seed: replaces the scenario's.
    Raises ConfigError (a ValueError) with all errors of the file, each with its line and its fix.
    """
    return Scenario(_core.Scenario(_os.fspath(path), _texts(changes), seed))


def load_sweep(path: Path, changes: Changes = None, seed: Optional[int] = None) -> "Sweep":
    """The sweep in a file; its scenario changed as by load. Raises ConfigError."""
    return Sweep(_core.Sweep(_os.fspath(path), _texts(changes), seed))


def _texts(changes):
    return [(pointer, _json.dumps(value)) for pointer, value in (changes or {}).items()]


class Scenario:
    """What runs; load makes it."""

    def __init__(self, core):
        self._core = core

    name = property(lambda self: self._core.name, doc="Of the file, without its ending.")
    seed = property(lambda self: self._core.seed)
    policies = property(lambda self: tuple(self._core.policies), doc="Names of the policy sets.")
    baseline = property(
        lambda self: self._core.baseline, doc="The set that others are compared with."
    )
    summary = property(
        lambda self: "\n".join(self._core.summary), doc="Fabric, jobs, policy sets in words."
    )

    def run(
        self, jobs: int = 0, progress: Optional[Callable[[str, float, int, int], Any]] = None
    ) -> "Result":
        """Simulates every policy set and returns a Result.

        jobs: threads, 0 for as many as there are cores; the result is the same for any number.
        progress: called about ten times a second as progress(policy, simulated_s, jobs_done, jobs);
        what it raises ends the run. Ctrl-C does too.
        """
        tell = (
            None
            if progress is None
            else lambda _, policy, at, done, of: progress(policy, at, done, of)
        )
        return Result(self._core.run(jobs, tell))

    def __repr__(self):
        return f"<railyard.Scenario {self.name}: {', '.join(self.policies)}>"


class Result:
    """What a scenario's policy sets did. str() is the table of `railyard run`."""

    def __init__(self, core):
        self._core = core
        self.json = core.json  #: as `railyard run --format json` prints it, to the byte
        self._data = _json.loads(self.json)

    digest = property(lambda self: self._data["digest"], doc="Equal results have equal digests.")
    scenario = property(lambda self: self._data["scenario"])
    seed = property(lambda self: self._data["seed"])
    baseline = property(lambda self: self._data["baseline"])
    policies = property(
        lambda self: tuple(self._data["policies"]), doc="Names of the policy sets, in order."
    )

    def to_dict(self) -> Record:
        """All of it, as result.json has it; a copy."""
        return _json.loads(self.json)

    def records(self) -> list[Record]:
        """A dict a policy set: "policy" and every metric; None where a metric has no meaning."""
        return [
            {"policy": name, **_plain(policy["metrics"])}
            for name, policy in self._data["policies"].items()
        ]

    def arrays(self) -> Arrays:
        """Every metric as a NumPy array over the policy sets; NaN where it has no meaning."""
        return _arrays(self.records())

    def metric(self, policy: str, name: str) -> Optional[float]:
        """One number, or None. Raises KeyError."""
        return self._data["policies"][policy]["metrics"][name]

    def jobs(self, policy: str) -> list[Record]:
        """A dict a job under a policy set, in order of submission: what is one text or number."""
        return [_plain(job) for job in self._data["policies"][policy]["jobs"]]

    def job_arrays(self, policy: str) -> Arrays:
        """The same as NumPy arrays over the jobs; NaN where there is no number."""
        return _arrays(self.jobs(policy))

    def save(self, folder: Path) -> None:
        """Writes result.json there, for `railyard compare` and `railyard report`."""
        _os.makedirs(folder, exist_ok=True)
        path = _os.path.join(folder, "result.json")
        with open(path + ".part", "w", encoding="utf-8") as out:
            out.write(self.json)
        _os.replace(path + ".part", path)

    def __str__(self):
        return self._core.table

    def __repr__(self):
        return f"<railyard.Result {self.scenario}, digest {self.digest}>"


class Sweep:
    """One scenario with many settings and seeds; load_sweep makes it."""

    def __init__(self, core):
        self._core = core

    name = property(lambda self: self._core.name)
    axes = property(lambda self: tuple(self._core.axes), doc="JSON pointers into the scenario.")

    @property
    def points(self) -> list[Record]:
        """A dict a point, in grid order: the value of every axis, and "seed"."""
        return [
            {
                **{
                    axis: _json.loads(text) if text else None
                    for axis, text in zip(self.axes, point.values)
                },
                "seed": point.seed,
            }
            for point in self._core.points
        ]

    def run(
        self, jobs: int = 0, progress: Optional[Callable[[int, str, float, int, int], Any]] = None
    ) -> "SweepResult":
        """Simulates every point; as Scenario.run, progress with the number of the point first."""
        return SweepResult(self.points, [Result(core) for core in self._core.run(jobs, progress)])

    def __len__(self):
        return len(self._core.points)

    def __repr__(self):
        return f"<railyard.Sweep {self.name}: {len(self)} points over {', '.join(self.axes)}>"


class SweepResult:
    """The results of a sweep: `points` and `results`, a list entry a point."""

    def __init__(self, points, results):
        self.points = points
        self.results = results

    def records(self) -> list[Record]:
        """A dict a point and policy set: the axes, "seed", "point", "policy" and every metric."""
        return [
            {"point": number, **point, **record}
            for number, (point, result) in enumerate(zip(self.points, self.results))
            for record in result.records()
        ]

    def arrays(self) -> Arrays:
        """The same as NumPy arrays over the records."""
        return _arrays(self.records())

    def __len__(self):
        return len(self.results)


def _plain(members):
    """Those that are one text or number."""
    return {name: value for name, value in members.items() if not isinstance(value, (dict, list))}


def _arrays(records):
    """Numbers as float64 with NaN for None, anything else as objects."""
    out = {}
    for name in records[0] if records else ():
        column = [record[name] for record in records]
        numeric = all(value is None or isinstance(value, (int, float)) for value in column)
        out[name] = (
            _np.array([_np.nan if value is None else value for value in column], float)
            if numeric
            else _np.array(column, object)
        )
    return out


# ---- Schedulers in Python ----


def start(
    job: int,
    hosts: Optional[list[int]] = None,
    rank_order: Optional[str] = None,
    place: Union[str, Record, None] = None,
) -> Record:
    """Starts a waiting job: on whole hosts in rank order (a gang smaller than a host: on one), or
    where the placement policy `place`, named as in a scenario, puts it; with neither, where the
    policy set's own does.
    """
    decision = {"start": job, "hosts": hosts, "rank_order": rank_order, "place": place}
    return {key: value for key, value in decision.items() if value is not None}


def preempt(job: int) -> Record:
    """Takes a running job's GPUs; it waits again, with what its checkpoints kept."""
    return {"preempt": job}


def reject(job: int, reason: str) -> Record:
    """Refuses a waiting job for good."""
    return {"reject": job, "reason": reason}


def wake(at_s: float) -> Record:
    """Asks for a scheduling point at that simulated time, at the latest."""
    return {"wake_s": at_s}


class Scheduler:
    """A scheduler of your own: derive, write decide, and give the class to register_scheduler.

    A policy set names it: {"scheduler": {"name": "python", "class": NAME}}. Each policy set and
    seed has an object of its own; runs are repeatable if it is a function of what it is told.
    """

    preempts = False  #: who preempts says so, and the run reports preemptions

    def begin(self) -> None:
        """Called once, with self.hosts, self.gpus_per_host and self.seed set."""

    def decide(self, now_s: float, events: list[Record]) -> list[Record]:
        """Returns decisions, made by start, preempt, reject and wake; they are applied in order.

        Called at every scheduling point with jobs waiting. Up to date then: self.free, GPUs by
        host; self.jobs, what was told of every job, by number; self.waiting, the numbers of those
        that wait, in order of arrival. events: what has happened since the last call, as
        docs/reference/policies.md lists it.
        """
        raise NotImplementedError

    def again(self) -> bool:
        """Asked after decide: is it to be called once more at this instant, if anybody waits?"""
        return False

    def _answer(self, line):
        message = _json.loads(line)
        if message["type"] == "hello":
            self.hosts = message["hosts"]
            self.gpus_per_host = message["gpus_per_host"]
            self.seed = message["seed"]
            self.placements = message["placements"]
            self.free = [0] * len(self.hosts)
            self.jobs = {}
            self._waits = set()
            self._decided = set()  # jobs of the last answer
            self.begin()
            return _json.dumps({"type": "hello", "protocol": 1, "preempts": self.preempts})
        for host, gpus in message["free"]:
            self.free[host] = gpus
        for event in message["events"]:
            self._note(event)
        decisions = list(self.decide(message["time_s"], message["events"]))
        self._decided = {decision.get("start", decision.get("reject")) for decision in decisions}
        for job in self._decided:
            self._waits.discard(job)
        return _json.dumps(
            {"type": "decisions", "decisions": decisions, "again": bool(decisions) and self.again()}
        )

    def _note(self, event):
        job, kind = event.get("job"), event["event"]
        if kind == "arrived":
            self.jobs[job] = {}
        if kind in ("arrived", "preempted"):
            self.jobs[job].update({key: value for key, value in event.items() if key != "event"})
            self._waits.add(job)
        if kind in ("refused", "no_place") and job in self._decided:  # of a running job: it runs on
            self._waits.add(job)

    @property
    def waiting(self) -> list[int]:
        return sorted(self._waits, key=lambda job: (self.jobs[job]["submitted_s"], job))


def register_scheduler(name: str, make: Callable[[], Scheduler]) -> None:
    """Lets policy sets name a class: {"scheduler": {"name": "python", "class": name}}.

    make: a class derived from Scheduler, or what returns an object of one. A name that is given
    twice means the later one.
    """
    _core.register_scheduler(name, make)
