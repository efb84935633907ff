"""An event loop in a thread, for programs that block."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from .errors import NestError

T = TypeVar("T")


class _Call(Generic[T]):
    """A coroutine that a thread waits for. Its methods run in the loop, one after the other."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.result: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self._is_over = False

    def start(self) -> None:
        if self._is_over:
            return
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(self._finish)

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
        else:
            self.discard()

    def discard(self) -> None:
        """Forgets a coroutine that was not started, or never will be."""
        self._is_over = True
        if not self._task:
            self._work.close()

    def _finish(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.result.cancel()
            self.result.set_running_or_notify_cancel()
        elif error := task.exception():
            self.result.set_exception(error)
        else:
            self.result.set_result(task.result())


class LoopThread:
    """Runs coroutines for other threads until it is stopped.

    The thread is a daemon: it does not keep the interpreter from ending. A child process after a fork does not have it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._main, name="nest", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._finish())
        finally:
            self._loop.close()

    async def _finish(self) -> None:
        """Ends what was begun before the stop, so that no thread waits for it for ever."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        # A task that is done passes its result on in the next step of the loop.
        await asyncio.sleep(0)

    @property
    def is_running(self) -> bool:
        """Whether it can run something: it is not stopped, and this process is the one that has its thread."""
        return not self._is_stopped and os.getpid() == self._process

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the loop, and waits for its result. An interrupt of this thread cancels it, whenever it
        comes: a coroutine without a waiter would take what the next call waits for."""
        call = _Call(work)
        try:
            self._check()
            with self._lock:
                if self._is_stopped:
                    raise NestError("CLOSED", "the client is closed")
                self._loop.call_soon_threadsafe(call.start)
            return call.result.result()
        except concurrent.futures.CancelledError:
            raise NestError("CLOSED", "the client was closed meanwhile") from None
        except BaseException:
            if os.getpid() == self._process:
                with self._lock:
                    if not self._is_stopped:
                        self._loop.call_soon_threadsafe(call.stop)
                        raise
            call.discard()
            raise

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise NestError("CLOSED", "a client does not go on in a forked process: connect again there")
        if threading.current_thread() is self._thread:
            raise NestError("INVALID", "the loop of a blocking client cannot wait for itself")

    def stop(self) -> None:
        """Ends the loop and the thread; nothing happens the second time."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
