import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel

/// Calls for operators' tools. While the server does not run, they do nothing and call nothing back.
extension Server {
    /// Limits that can be changed while the server runs.
    package struct LiveLimits: Equatable, Sendable {
        package var connectionsMax: Int
        package var outputBytesMax: Int
        package var spoolBytesMax: Int

        package init(connectionsMax: Int, outputBytesMax: Int, spoolBytesMax: Int) {
            self.connectionsMax = connectionsMax
            self.outputBytesMax = outputBytesMax
            self.spoolBytesMax = spoolBytesMax
        }
    }

    /// Visits every event loop and then the engine's thread, which calls `answered`. A node of a cluster that has no
    /// open store, because it waits for the log, has no such threads: the answer comes at once.
    package func beat(_ answered: @escaping @Sendable () -> Void) {
        if self.configuration.replica != nil, !self.isRunning { return answered() }
        self.withRunning { loops, server in
            let visits = loops.map { $0.eventLoop.submit {} }
            EventLoopFuture.andAllSucceed(visits, on: loops[0].eventLoop).whenSuccess {
                server.engine.ask { _ in answered() }
            }
        }
    }

    /// Calls `answer` with the engine's own statistics, on the engine's thread.
    package func engineStatistics(_ answer: @escaping @Sendable ([Statistic]) -> Void) {
        self.withRunning { _, server in
            server.engine.ask { answer($0.statistics) }
        }
    }

    /// Sets new limits. They apply to later connections, output and transfers; what already exceeds a limit stays.
    package func apply(_ limits: LiveLimits) {
        self.ending.withLockedValue { $0.limits = limits }
        self.withRunning { loops, server in
            let files = server.configuration.webFilesOpenMax
            server.limiter.max = Descriptors.slots(wanted: limits.connectionsMax, files: files).served
            server.spool.bytesMax = limits.spoolBytesMax
            for loop in loops { loop.eventLoop.execute { loop.outputBytesMax = limits.outputBytesMax } }
        }
    }
}
