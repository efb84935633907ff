import Glibc
import Logging
import NIOConcurrencyHelpers

/// Checks whether a log accepts a line at once: a supervisor that does not read must not block the server.
package final class LogGate: Sendable {
    private let descriptor: Int32
    /// The number of lines lost since the last one that was written.
    private let lostCount = NIOLockedValueBox(0)

    /// `descriptor`: the log's pipe, socket or file. A file always accepts lines.
    package init(descriptor: Int32 = STDERR_FILENO) {
        self.descriptor = descriptor
    }

    /// Calls `write` with the number of lines lost before when there is room for a line; otherwise counts one more lost
    /// line. One call at a time, because the room is for one line. A line of at most 4 KiB then does not block,
    /// whatever kind of log it is.
    func pass(_ write: (_ lost: Int) -> Void) {
        self.lostCount.withLockedValue { lost in
            var poll = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            // Writing to a log that is closed does not block either.
            guard Glibc.poll(&poll, 1, 0) != 0 else { return lost += 1 }
            write(lost)
            lost = 0
        }
    }
}

/// Passes on events that can be written at once. Others are lost and counted; the line `log.lost` states their number.
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
                var notice = event
                notice.level = .warning
                notice.message = "log.lost"
                notice.metadata = ["lines": "\(lost)"]
                notice.error = nil
                self.base.log(event: notice)
            }
            self.base.log(event: event)
        }
    }
}
