import Logging
import NIOConcurrencyHelpers

/// A part of nestd that applies a new configuration while nestd runs. It has two steps, so that a fault in one part
/// changes nothing in any part.
package struct ReloadStep: Sendable {
    package let name: String
    /// Prepares the new settings, or throws without a change. The returned closure applies them, and cannot fail.
    package let prepare: @Sendable (ServiceSettings) throws -> @Sendable () -> Void

    package init(_ name: String, prepare: @escaping @Sendable (ServiceSettings) throws -> @Sendable () -> Void) {
        self.name = name
        self.prepare = prepare
    }
}

/// Reads the configuration again. Applies the settings that a running nestd can change, and logs those that need a
/// restart.
package final class Reloader: Sendable {
    private let settings: NIOLockedValueBox<ServiceSettings>
    private let read: @Sendable () throws -> ServiceSettings
    private let steps: [ReloadStep]
    private let logger: Logger

    /// `settings`: the settings in force. `read` reads the current settings in the way in which these were read.
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

    /// Reads and applies the configuration. Returns whether it is valid: if not, changes nothing and logs all its
    /// faults.
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
