import Foundation

/// Runs a body on a thread whose stack is small, and waits for it: what recurses as deep as its data goes traps.
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
