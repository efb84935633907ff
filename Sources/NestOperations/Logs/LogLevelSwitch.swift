import Logging
import NIOConcurrencyHelpers

/// The least severe level that is logged, which may change while loggers are in use.
package final class LogLevelSwitch: Sendable {
    private let value: NIOLockedValueBox<Logger.Level>

    package init(_ level: Logger.Level) {
        self.value = NIOLockedValueBox(level)
    }

    package var level: Logger.Level {
        get { self.value.withLockedValue { $0 } }
        set { self.value.withLockedValue { $0 = newValue } }
    }
}

/// Passes on events at or above the switch's level, or at or above the logger's own level if that is higher.
package struct SwitchedLogHandler: LogHandler {
    private let levelSwitch: LogLevelSwitch
    private var ownLevel: Logger.Level?
    private var base: any LogHandler

    package init(_ base: any LogHandler, _ levelSwitch: LogLevelSwitch) {
        self.levelSwitch = levelSwitch
        self.base = base
        // The level of an event is checked before it arrives here.
        self.base.logLevel = .trace
    }

    package var logLevel: Logger.Level {
        get {
            let shared = self.levelSwitch.level
            return self.ownLevel.map { max($0, shared) } ?? shared
        }
        set { self.ownLevel = newValue }
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

    package func log(event: LogEvent) { self.base.log(event: event) }
}
