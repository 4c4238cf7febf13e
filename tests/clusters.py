"""Executors for tests that start no process: everything travels as it would to another one."""

import pickle

from seqray.parallel.executor import Here, Task


class Posted(Here):
    """Runs jobs here, but packs and unpacks tasks, jobs and results like another process.

    Outcomes come in another order than the jobs: several are under way at a time.
    """

    def __init__(self, n_workers=3):
        self.n_workers, self.n_jobs = n_workers, 0
        self.functions = {}

    def run(self, task, jobs, **options):
        jobs, waiting = iter(jobs), []
        while True:
            for name, job in jobs:
                self.n_jobs += 1
                waiting.append((name, pickle.loads(pickle.dumps(job))))
                if len(waiting) == self.n_workers:
                    break
            if not waiting:
                return
            name, job = waiting.pop()
            worker = (task.token, self.n_jobs % self.n_workers)
            if worker not in self.functions:
                self.functions[worker] = Task(pickle.loads(task.packed))
            for outcome in super().run(self.functions[worker], [(name, job)], **options):
                yield pickle.loads(pickle.dumps(outcome))
