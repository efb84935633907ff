@preconcurrency import Dispatch

/// The signals by which a shell and a terminal stop, continue and resize a program.
enum TerminalSignals {
    static let all = [SIGTSTP, SIGCONT, SIGWINCH]

    /// Calls `take` for each signal until the task is cancelled.
    static func handle(_ take: @escaping @Sendable (Int32) async -> Void) async {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = Self.all.map { number in
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        for await signal in signals { await take(signal) }
    }
}
