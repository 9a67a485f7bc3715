#!/usr/bin/env python3
"""test_costs.py PROGRAM: what runs cost, by hand and by laws; what is refused."""

import json
import unittest

from support import changed, railyard

SMALL = "tests/cli/small.json"
POWERS = {"power": "400W", "idle_power": "50W"}
CLUSTER = 64 - 40  # eight hosts of eight GPUs, five hosts are others'


def run(cost, changes=(), form="json"):
    changes = {**({} if cost is None else {"/cost": cost}), **dict(changes)}
    return railyard("run", SMALL, "--format", form, *changed(changes))


def result(cost, changes=()):
    done = run(cost, changes)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def policy(cost, name="gpu_packing", changes=()):
    return result(cost, changes)["policies"][name]


class Money(unittest.TestCase):
    """A GPU costs 3.60 USD an hour: a thousandth of a dollar a second. The job holds 16 of them."""

    def test_gpu_hours_of_the_job_and_of_the_cluster(self):
        held = policy({"gpu_hour": "3.60 USD"})
        job, cost, metrics = held["jobs"][0], held["cost"], held["metrics"]
        seconds = job["finish_s"]
        self.assertAlmostEqual(job["cost"], 16 * seconds * 1e-3)
        self.assertAlmostEqual(metrics["cost_per_job"], job["cost"])
        self.assertAlmostEqual(metrics["cost_per_iteration"], job["cost"] / 3)
        self.assertAlmostEqual(metrics["cost_total"], CLUSTER * seconds * 1e-3)
        self.assertEqual(cost["currency"], "USD")
        self.assertIsNone(metrics["energy_j"])
        hours = [cost[key] for key in ("busy_gpu_h", "waiting_gpu_h", "reserved_gpu_h",
                                       "idle_gpu_h")]
        self.assertAlmostEqual(sum(hours), CLUSTER * seconds / 3600)
        self.assertAlmostEqual(hours[0] / (hours[0] + hours[1]), metrics["gpu_busy_share"])
        self.assertEqual(hours[2], 0)

    def test_a_token_costs_what_its_iteration_does(self):
        """16 sequences of 2,048 tokens an iteration."""
        metrics = policy({"gpu_hour": "3.60 USD"})["metrics"]
        self.assertAlmostEqual(metrics["cost_per_token"] * 16 * 2048,
                               metrics["cost_per_iteration"])

    def test_prices_scale_costs_and_add_up(self):
        single, double = ({"gpu_hour": f"{price} EUR"} for price in ("1.5", "3"))
        one = policy(single)["metrics"]["cost_total"]
        self.assertAlmostEqual(policy(double)["metrics"]["cost_total"], 2 * one)
        energy = {"kwh": "0.2 EUR", **POWERS}
        alone = policy(energy)["metrics"]["cost_total"]
        both = policy({**single, **energy})
        self.assertAlmostEqual(both["metrics"]["cost_total"], one + alone)
        self.assertAlmostEqual(sum(both["cost"][part] for part in ("gpus", "network", "energy")),
                               one + alone)

    def test_reservations_that_stand_idle_are_told_apart(self):
        """Half of the hosts are kept for jobs of 64 GPUs, which never come."""
        pool = {"name": "pool", "share": 0.5, "min_gpus": 64}
        sets = {"best_fit": {"placement": "best_fit", "reservation": pool}}
        held = policy({"gpu_hour": "1 USD"}, "best_fit", [("/policies", sets)])
        self.assertGreaterEqual(held["cost"]["reserved_gpu_h"], 0)
        self.assertAlmostEqual(held["cost"]["reserved_gpu_h"] * 3600,
                               held["metrics"]["reserved_idle_gpu_s"])


class Energy(unittest.TestCase):
    def test_energy_is_power_by_time(self):
        cost = policy({**POWERS, "pue": 1.25})
        parts = cost["cost"]
        every = sum(parts[key] for key in ("busy_gpu_h", "waiting_gpu_h", "idle_gpu_h"))
        busy = parts["busy_gpu_h"]
        expected = 1.25 * (busy * 0.4 + (every - busy) * 0.05)
        self.assertAlmostEqual(parts["energy_kwh"], expected)
        self.assertAlmostEqual(cost["metrics"]["energy_j"], expected * 3.6e6)
        self.assertIsNone(cost["metrics"]["cost_total"])
        self.assertNotIn("cost", cost["jobs"][0])

    def test_the_kind_of_gpu_knows_its_power(self):
        """400 W on NVIDIA's data sheet of the A100-80."""
        known = policy({"idle_power": "50W"})["metrics"]["energy_j"]
        self.assertEqual(known, policy(POWERS)["metrics"]["energy_j"])
        own = {"base": "A100-80", "power": "0.2kW", "idle_power": "50W"}
        less = policy({"pue": 1.0}, changes=[("/gpu", own)])["metrics"]["energy_j"]
        self.assertLess(less, known)


class Network(unittest.TestCase):
    """Ports of leaves, spines and cores; the price of one over four years of 8,766 hours."""

    def ports(self, oversubscription):
        cost = {"switch_port": "500 USD", "network_years": 4}
        changes = [("/topology/oversubscription/minipod", oversubscription)]
        return policy(cost, changes=changes)["cost"]

    def test_a_thinner_core_has_fewer_ports(self):
        wide, thin = self.ports(1), self.ports(4)
        self.assertGreater(wide["switch_ports"], thin["switch_ports"])
        for held in (wide, thin):
            per_hour = held["switch_ports"] * 500 / (4 * 8766) / 64
            self.assertAlmostEqual(held["network_per_gpu_h"], per_hour)
            hours = held["busy_gpu_h"] + held["waiting_gpu_h"] + held["idle_gpu_h"]
            self.assertAlmostEqual(held["network"], hours * per_hour)


class OffByDefault(unittest.TestCase):
    def test_without_prices_nothing_is_there_and_no_digest_moves(self):
        plain = result(None)
        held = plain["policies"]["best_fit"]
        self.assertNotIn("cost", held)
        self.assertNotIn("cost", held["jobs"][0])
        self.assertIsNone(held["metrics"]["cost_total"])
        self.assertNotIn("GPU h", run(None, form="table").stdout)
        self.assertNotEqual(result({"gpu_hour": "1 USD"})["digest"], plain["digest"])

    def test_the_table_of_costs_names_the_currency(self):
        text = run({"gpu_hour": "1 CHF"}, form="table").stdout
        self.assertIn("CHF", text)
        self.assertIn("waiting", text)


class Refused(unittest.TestCase):
    def refused(self, text, cost, changes=()):
        done = run(cost, changes)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(text, done.stderr)

    def test_what_contradicts_itself_or_lacks_a_half(self):
        self.refused("expected a sum with its currency, as \"2.10 USD\"", {"gpu_hour": 2})
        self.refused("is no currency of three capital letters", {"gpu_hour": "2 dollars"})
        self.refused("has no unit", {"gpu_hour": "2"})
        self.refused("must not be negative", {"gpu_hour": "-2 USD"})
        self.refused("/cost/kwh: is in EUR, \"gpu_hour\" in USD",
                     {"gpu_hour": "2 USD", "kwh": "1 EUR", **POWERS})
        self.refused("\"network_years\", over which it is written off",
                     {"switch_port": "500 USD"})
        self.refused("or neither", {"gpu_hour": "1 USD", "network_years": 4})
        self.refused("give \"idle_power\" here", {"kwh": "0.1 USD"})
        self.refused("600 W is more than the 400 W", {"kwh": "0.1 USD", "idle_power": "600W"})
        self.refused("give a price", {})
        self.refused("must be from 1 to 10", {"pue": 0.5, **POWERS})
        self.refused("did you mean \"gpu_hour\"", {"gpu_hours": "1 USD"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
