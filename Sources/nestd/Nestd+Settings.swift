import ArgumentParser
import Foundation
import Logging
import NestOperations
import NestServer
import NestStore

/// The settings of nestd, from the command line, the environment and the configuration file.
extension Nestd {
    /// Reads the settings from all sources. If they have faults, prints every fault and ends with status 78.
    func readSettings() throws -> ServiceSettings {
        do throws(SettingFaults) {
            return try self.settings()
        } catch {
            throw Self.failure(78, error.description)
        }
    }

    /// Reads the settings from all sources. Throws faults instead of ending the process.
    func settings() throws(SettingFaults) -> ServiceSettings {
        let environment = ProcessInfo.processInfo.environment
        let path = self.config ?? environment["NESTD_CONFIG"]
        var file: (path: String, bytes: [UInt8])?
        if let path {
            do {
                file = (path, [UInt8](try Data(contentsOf: URL(filePath: path))))
            } catch {
                let isMissing = (error as? CocoaError)?.code == .fileReadNoSuchFile
                let reason = isMissing ? "there is no such file" : "cannot be read: \(error.localizedDescription)"
                throw SettingFaults(["\(path): \(reason)"])
            }
        }
        let settings = try ServiceSettings(flags: self.flags, environment: environment, file: file)
        let faults = Security(settings).faults + ClusterSettings.faults(settings) + WebSettings.faults(settings)
        guard faults.isEmpty else { throw SettingFaults(faults) }
        return settings
    }

    /// The settings that the command line specifies.
    private var flags: [Setting: SettingValue] {
        let values: [(Setting, SettingValue?)] = [
            (.port, self.port.map { .integer(Int($0)) }),
            (.host, self.host.map { .text($0) }),
            (.store, self.store.map { .text($0) }),
            (.memory, self.memory ? .flag(true) : nil),
            (.model, self.model.map { .text($0) }),
            (.logURL, self.cluster.log.map { .text($0) }),
            (.node, self.cluster.node.map { .text($0) }),
            (.advertise, self.cluster.advertise.map { .text($0) }),
            (.logLevel, self.logLevel.map { .text($0.rawValue) }),
            (.logFormat, self.logFormat.map { .text($0.rawValue) }),
            (.metricsPort, self.metricsPort.map { .integer(Int($0)) }),
            (.insecure, self.security.insecure ? .flag(true) : nil),
            (.auth, self.security.auth.map { .text($0.rawValue) }),
            (.tlsCert, self.security.tlsCert.map { .text($0) }),
            (.tlsKey, self.security.tlsKey.map { .text($0) }),
            (.tlsClientCA, self.security.tlsClientCa.map { .text($0) }),
            (.tlsPeerCA, self.security.tlsPeerCa.map { .text($0) }),
            (.web, self.web.web.map { .text($0) }),
            (.webRoot, self.web.webRoot.map { .text($0) }),
            (.webPage, self.web.webPage.map { .flag($0) }),
            (.webNames, self.web.webName.isEmpty ? nil : .text(self.web.webName.joined(separator: ","))),
            (.webOrigins, self.web.webOrigin.isEmpty ? nil : .text(self.web.webOrigin.joined(separator: ","))),
            (.minFree, self.minFree.map { .integer($0) }),
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
        self.isOn(.memory) ? nil : self.text(.store).map { Nestd.path(ofStore: $0) }
    }

    var location: Store.Configuration.Location { self.storePath.map { .file($0) } ?? .memory }

    var level: Logger.Level { self.text(.logLevel).flatMap(Logger.Level.init(rawValue:)) ?? .info }

    var liveLimits: Server.LiveLimits {
        // Each has a default, so none is missing.
        Server.LiveLimits(
            connectionsMax: self.integer(.connectionsMax)!,
            outputBytesMax: self.integer(.outputBytesMax)!,
            spoolBytesMax: self.integer(.spoolBytesMax)!
        )
    }
}
