import ArgumentParser
import Foundation
import Logging
import NestOperations
import NestServer
import NestStore

/// What nestd is told, from the command line, the environment and the configuration file.
extension Nestd {
    /// Reads all places; ends with 78 and every fault when something is wrong.
    func readSettings() throws -> ServiceSettings {
        do throws(SettingFaults) {
            return try self.settings()
        } catch {
            throw Self.failure(78, error.description)
        }
    }

    /// The same, for when the answer is not the end of the process.
    func settings() throws(SettingFaults) -> ServiceSettings {
        let environment = ProcessInfo.processInfo.environment
        let path = self.config ?? environment["NESTD_CONFIG"]
        var file: (path: String, bytes: [UInt8])?
        if let path {
            do {
                file = (path, [UInt8](try Data(contentsOf: URL(filePath: path))))
            } catch {
                throw SettingFaults(["\(path): cannot be read: \(error.localizedDescription)"])
            }
        }
        let settings = try ServiceSettings(flags: self.flags, environment: environment, file: file)
        let host = settings.text(.host) ?? ""
        guard settings.isOn(.insecure) || Loopback.contains(host) else {
            let reason = "\(host) can be reached by others, and nothing is encrypted or protected yet"
            let advice = "Use --host 127.0.0.1, or add --insecure if that is what you want"
            throw SettingFaults(["refused: \(reason). \(advice)"])
        }
        return settings
    }

    /// What the command line says.
    private var flags: [Setting: SettingValue] {
        let values: [(Setting, SettingValue?)] = [
            (.port, self.port.map { .integer(Int($0)) }),
            (.host, self.host.map { .text($0) }),
            (.store, self.store.map { .text($0) }),
            (.memory, self.memory ? .flag(true) : nil),
            (.model, self.model.map { .text($0) }),
            (.logLevel, self.logLevel.map { .text($0.rawValue) }),
            (.logFormat, self.logFormat.map { .text($0.rawValue) }),
            (.metricsPort, self.metricsPort.map { .integer(Int($0)) }),
            (.insecure, self.insecure ? .flag(true) : nil),
        ]
        return Dictionary(uniqueKeysWithValues: values.compactMap { setting, value in value.map { (setting, $0) } })
    }
}

/// How the log is written.
enum LogFormat: String, CaseIterable, ExpressibleByArgument {
    case text, json
}

extension ServiceSettings {
    /// The store's file; `nil` when it is in memory.
    var storePath: String? {
        guard !self.isOn(.memory), let path = self.text(.store) else { return nil }
        // SQLite would read "file:…?mode=…" as a URI; with a directory before it, it is a name like any other.
        return path.hasPrefix("file:") ? "./" + path : path
    }

    var location: Store.Configuration.Location { self.storePath.map { .file($0) } ?? .memory }

    var level: Logger.Level { self.text(.logLevel).flatMap(Logger.Level.init(rawValue:)) ?? .info }

    var liveLimits: Server.LiveLimits {
        // Each has a default, so that none is missing.
        Server.LiveLimits(
            connectionsMax: self.integer(.connectionsMax)!,
            outputBytesMax: self.integer(.outputBytesMax)!,
            spoolBytesMax: self.integer(.spoolBytesMax)!
        )
    }
}
