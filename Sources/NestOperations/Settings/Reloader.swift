import Logging
import NIOConcurrencyHelpers

/// One thing that follows the configuration while nestd runs, in two steps: so that a fault in one changes nothing at all.
package struct ReloadStep: Sendable {
    package let name: String
    /// Makes ready what the settings ask for, or throws, having changed nothing. What it returns makes it so, and cannot fail.
    package let prepare: @Sendable (ServiceSettings) throws -> @Sendable () -> Void

    package init(_ name: String, prepare: @escaping @Sendable (ServiceSettings) throws -> @Sendable () -> Void) {
        self.name = name
        self.prepare = prepare
    }
}

/// Reads the configuration again: takes what a running nestd can take, and says what it cannot.
package final class Reloader: Sendable {
    private let settings: NIOLockedValueBox<ServiceSettings>
    private let read: @Sendable () throws -> ServiceSettings
    private let steps: [ReloadStep]
    private let logger: Logger

    /// `settings`: those in force. `read` reads those that there are now, in the same way as these were read.
    package init(
        _ settings: ServiceSettings,
        steps: [ReloadStep],
        logger: Logger,
        read: @escaping @Sendable () throws -> ServiceSettings
    ) {
        self.settings = NIOLockedValueBox(settings)
        self.read = read
        self.steps = steps
        self.logger = logger
    }

    /// Returns whether the configuration is good. One that is not changes nothing, and all its faults are logged.
    @discardableResult
    package func reload() -> Bool {
        var applications: [@Sendable () -> Void] = []
        var faults: [String] = []
        let old = self.settings.withLockedValue { $0 }
        var new = old
        do {
            new = try self.read()
        } catch let error as SettingFaults {
            faults = error.faults
        } catch {
            faults = ["\(error)"]
        }
        if faults.isEmpty {
            for step in self.steps {
                do {
                    applications.append(try step.prepare(new))
                } catch {
                    faults.append("\(step.name): \(error)")
                }
            }
        }
        guard faults.isEmpty else {
            for fault in faults { self.logger.error("config.refused", metadata: ["fault": "\(fault)"]) }
            return false
        }
        for apply in applications { apply() }
        self.settings.withLockedValue { $0 = old.takingLive(from: new) }
        for setting in old.differences(to: new) {
            let metadata: Logger.Metadata = [
                "setting": "\(setting.key)", "from": "\(old.description(of: setting))",
                "to": "\(new.description(of: setting))",
            ]
            if setting.isLive {
                self.logger.notice("config.changed", metadata: metadata)
            } else {
                self.logger.warning("config.needs_restart", metadata: metadata)
            }
        }
        self.logger.notice("config.reloaded")
        return true
    }
}
