import Foundation

/// Runs `body` on a thread with a small stack and waits for it. Code that recurses once per level of deep data traps.
package func onSmallStack<Value>(bytes: Int = 256 << 10, _ body: @escaping () throws -> Value) throws -> Value {
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var result: Result<Value, any Error>?
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        result = Result { try body() }
        done.signal()
    }
    thread.stackSize = bytes
    thread.start()
    done.wait()
    return try result!.get()
}
