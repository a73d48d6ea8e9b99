"""Tasks of prime `verifiers` whose reward is Assay's: scored here without a model, as its rollouts are in the end.

    pip install . verifiers      # in Assay's checkout (verifiers 0.4); and `assay serve` in another terminal
    python docs/examples/trainers/prime_environment.py

A missing reward raises: the rollout then has an error and no reward, and trainers leave it out. For versions with
rubrics (before 0.2) see `rubric_function`.
"""

import asyncio
import os

import verifiers.v1 as vf

from assay.clients import AsyncClient
from assay.clients.adapters.prime_verifiers import reward_of

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")


class SumData(vf.TaskData):
    """One row: its prompt, and the answer or the tests."""

    answer: str


class Sum(vf.Task[SumData]):
    """A question with one right answer."""

    @vf.reward
    async def solved(self, trace: vf.Trace) -> float:
        """Return 1 for the right answer, 0 for another."""
        async with AsyncClient(URL) as client:
            return await reward_of(client, self.data.answer, trace.last_reply)


async def scored(answer: str, reply: str) -> float | None:
    """Return the reward of one reply; None where scoring failed."""
    task = Sum(SumData(prompt="How much is 6 * 7?", answer=answer))
    said = vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True)
    agent = vf.AgentInfo(config=vf.AgentConfig(), name="nobody", trainable=False)
    trace = vf.Trace(task=vf.TraceTask(type="Sum", data=task.data), agent=agent, state=vf.State(), nodes=[said])
    try:
        await task.score(trace)
    except vf.TaskError as error:
        print("no reward:", error)
    reward = trace.rewards["solved"]
    return None if reward is None else reward.value


async def main() -> None:
    """Score a right reply, a wrong one, and one of a task that has no verdict."""
    replies = [("42", "It is \\boxed{42}."), ("42", "It is \\boxed{41}."), ('{"tests": []}', "x = 1")]
    print("rewards:", [await scored(*one) for one in replies])


if __name__ == "__main__":
    asyncio.run(main())
