@preconcurrency import Dispatch

/// The bytes typed on the terminal.
enum TerminalKeyboard {
    /// The largest number of bytes read at once.
    private static let readMax = 1_024
    /// The time within which the bytes of one key arrive, even through a slow connection.
    private static let sequenceTime = Duration.milliseconds(50)

    private enum Input: Sendable {
        case bytes([UInt8])
        /// Nothing has come for some time after the input with this number.
        case quiet(after: Int)
    }

    /// Calls `pressed` for each key until it returns `false`, or until the terminal is closed.
    static func read(_ pressed: @escaping @Sendable (TerminalKey) async -> Bool) async {
        let (inputs, continuation) = AsyncStream.makeStream(of: Input.self)
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO)
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: Self.readMax)
            let count = readBytes(STDIN_FILENO, &bytes)
            if count > 0 {
                continuation.yield(.bytes(Array(bytes[..<count])))
            } else if count == 0 || errno != EAGAIN {
                continuation.finish()
            }
        }
        source.resume()
        defer { source.cancel() }
        await withTaskGroup(of: Void.self) { group in
            var decoder = KeyDecoder()
            var number = 0
            for await input in inputs {
                let keys: [TerminalKey]
                switch input {
                case .bytes(let bytes):
                    keys = decoder.decode(bytes)
                    number += 1
                case .quiet(let last): keys = last == number ? decoder.flush() : []
                }
                for key in keys where await !pressed(key) {
                    group.cancelAll()
                    return
                }
                if decoder.isWaiting, case .bytes = input {
                    group.addTask { [number] in
                        try? await Task.sleep(for: Self.sequenceTime)
                        continuation.yield(.quiet(after: number))
                    }
                }
            }
            group.cancelAll()
        }
    }
}
