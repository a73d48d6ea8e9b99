"""Coroutines and asynchronous iterators on both sides: one test for each row of docs/crossing.md."""

import asyncio
import inspect
from typing import Any  # candidates return values of every type

import pytest
from split_pair import Load, load

__all__ = ["load"]


def test_async_callbacks_are_awaited(load: Load) -> None:
    """Coroutine functions passed as arguments can be awaited by the candidate."""
    module = load("""
        import asyncio
        async def apply(f, x): return await f(x)
        def run(f, x): return asyncio.run(f(x))
        async def guarded(f):
            try: return await f()
            except ValueError as error: return f"caught {error}"
    """)

    async def increment(x: int) -> int:
        await asyncio.sleep(0)
        return x + 1

    async def fail() -> None:
        raise ValueError("async")

    assert asyncio.run(module.apply(increment, 1)) == 2
    assert module.run(increment, 2) == 3
    assert asyncio.run(module.guarded(fail)) == "caught async"


def test_async_callbacks_run_concurrently(load: Load) -> None:
    """Coroutines of the tests that the candidate awaits overlap, and are cancelled when it no longer waits."""
    module = load("""
        import asyncio
        async def limited(f, xs, n):
            gate = asyncio.Semaphore(n)
            async def one(x):
                async with gate:
                    return await f(x)
            return await asyncio.gather(*(one(x) for x in xs))
        async def until(f, begun):
            task = asyncio.ensure_future(f())
            await begun()
            task.cancel()
            try: return await task
            except asyncio.CancelledError: return "left"
    """)
    running, most, cancelled = 0, 0, []
    three, waiting = asyncio.Event(), asyncio.Event()

    async def work(x: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            three.set()
        await three.wait()
        running -= 1
        return x * 2

    async def forever() -> None:
        waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main() -> tuple[Any, ...]:
        doubled = await module.limited(work, list(range(10)), 3)
        left = await module.until(forever, waiting.wait)
        await asyncio.sleep(0)
        return doubled, left

    assert asyncio.run(main()) == ([2 * n for n in range(10)], "left")
    assert most == 3
    assert cancelled == [True]


def test_coroutines_run_concurrently(load: Load) -> None:
    """Coroutines of the candidate can be awaited, gathered, cancelled and run by asyncio.run."""
    module = load("""
        import asyncio
        log, running, everybody = [], [], asyncio.Event()
        async def double(x):
            running.append(x)
            if len(running) == 20: everybody.set()
            await everybody.wait()
            return 2 * x
        async def slow(begun):
            begun()
            try: await asyncio.sleep(3600)
            finally: log.append("cleaned up")
        async def fail(): raise ValueError("async")
    """)

    async def main() -> None:
        assert await asyncio.gather(*(module.double(n) for n in range(20))) == list(range(0, 40, 2))
        begun = asyncio.Event()
        slow = asyncio.ensure_future(module.slow(begun.set))
        await begun.wait()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        with pytest.raises(ValueError, match="async"):
            await module.fail()

    asyncio.run(main())
    assert module.log == ["cleaned up"]
    assert asyncio.run(module.double(4)) == 8
    assert asyncio.iscoroutinefunction(module.double)
    assert inspect.iscoroutinefunction(module.double)


def test_async_iteration_and_contexts_work(load: Load) -> None:
    """Async generators and async context managers of the candidate work in the tests' loop."""
    module = load("""
        import asyncio
        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i
        class Session:
            async def __aenter__(self):
                await asyncio.sleep(0)
                self.open = True
                return self
            async def __aexit__(self, *exc): self.open = False
            async def get(self): return self.open
    """)

    async def main() -> tuple[list[int], bool, bool]:
        numbers = [n async for n in module.count(3)]
        async with module.Session() as session:
            inside = await session.get()
        return numbers, inside, session.open

    assert asyncio.run(main()) == ([0, 1, 2], True, False)
