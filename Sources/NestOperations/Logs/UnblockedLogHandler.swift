import Glibc
import Logging
import NIOConcurrencyHelpers

/// Looks whether a log takes a line at once: a supervisor that does not read must not make the server wait.
package final class LogGate: Sendable {
    private let descriptor: Int32
    /// Lines lost since the last that was written.
    private let lostCount = NIOLockedValueBox(0)

    /// `descriptor`: where the lines go. A pipe or socket; a file always takes them.
    package init(descriptor: Int32 = STDERR_FILENO) {
        self.descriptor = descriptor
    }

    /// Calls `write` when there is room, with the number of lines that were lost before; otherwise counts one more. One at a
    /// time: the room is for one line. A line of at most 4 KiB does not wait then, whatever the log is.
    func pass(_ write: (_ lost: Int) -> Void) {
        self.lostCount.withLockedValue { lost in
            var poll = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            // A log that is gone does not wait either.
            guard Glibc.poll(&poll, 1, 0) != 0 else { return lost += 1 }
            write(lost)
            lost = 0
        }
    }
}

/// Hands on what can be written at once. What cannot is lost and counted; the line `log.lost` says how many there were.
package struct UnblockedLogHandler: LogHandler {
    private var base: any LogHandler
    private let gate: LogGate

    package init(_ base: any LogHandler, _ gate: LogGate) {
        self.base = base
        self.gate = gate
    }

    package var logLevel: Logger.Level {
        get { self.base.logLevel }
        set { self.base.logLevel = newValue }
    }

    package var metadata: Logger.Metadata {
        get { self.base.metadata }
        set { self.base.metadata = newValue }
    }

    package var metadataProvider: Logger.MetadataProvider? {
        get { self.base.metadataProvider }
        set { self.base.metadataProvider = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.base[metadataKey: key] }
        set { self.base[metadataKey: key] = newValue }
    }

    package func log(event: LogEvent) {
        self.gate.pass { lost in
            if lost > 0 {
                var told = event
                told.level = .warning
                told.message = "log.lost"
                told.metadata = ["lines": "\(lost)"]
                told.error = nil
                self.base.log(event: told)
            }
            self.base.log(event: event)
        }
    }
}
