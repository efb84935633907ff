import NestDocuments

/// The settings in force. Each has the value of the first source that specifies it, in the order command line,
/// environment, file, default.
package struct ServiceSettings: Equatable, Sendable {
    private var values: [Setting: SettingValue] = [:]
    /// The origin of each value that is not the default.
    private var origins: [Setting: SettingOrigin] = [:]

    /// Merges the sources. `file`: its path and content. Throws all faults, not only the first.
    package init(
        flags: [Setting: SettingValue],
        environment: [String: String] = [:],
        file: (path: String, bytes: [UInt8])? = nil
    ) throws(SettingFaults) {
        var faults: [String] = []
        var sources = [SettingSource(flags: flags), SettingSource(environment: environment, &faults)]
        if let file { sources.append(SettingSource(path: file.path, bytes: file.bytes, &faults)) }
        var ranks: [Setting: Int] = [:]
        for setting in Setting.all {
            // Read every source, so that a fault in one is reported even if another has the value.
            for (rank, source) in sources.enumerated() {
                guard let value = source.value(of: setting, &faults), self.values[setting] == nil else { continue }
                self.values[setting] = value
                self.origins[setting] = source.origin
                ranks[setting] = rank
            }
        }
        self.chooseStoreLocation(ranks, sources.map(\.origin), &faults)
        guard faults.isEmpty else { throw SettingFaults(faults) }
        for setting in Setting.all where self.values[setting] == nil { self.values[setting] = setting.fallback }
    }

    /// `memory` and `store` exclude each other: the source with the higher precedence decides.
    private mutating func chooseStoreLocation(
        _ ranks: [Setting: Int],
        _ origins: [SettingOrigin],
        _ faults: inout [String]
    ) {
        guard self.values[.memory] == .flag(true), let memory = ranks[.memory], let store = ranks[.store] else {
            return
        }
        if memory == store {
            faults.append("\(origins[memory].spelling(of: .memory, .store)) exclude each other")
        } else if memory < store {
            self.values[.store] = nil
        } else {
            self.values[.memory] = .flag(false)
        }
    }

    /// Returns the setting as its origin spells it, such as `NESTD_TLS_CERT`. A setting that is not specified is
    /// spelled as the origin of `other` would spell it, or else as on the command line.
    package func spelling(of setting: Setting, besides other: Setting? = nil) -> String {
        (self.origins[setting] ?? other.flatMap { self.origins[$0] } ?? .commandLine).spelling(of: setting)
    }

    package func text(_ setting: Setting) -> String? {
        if case .text(let text) = self.values[setting] { text } else { nil }
    }

    package func integer(_ setting: Setting) -> Int? {
        if case .integer(let number) = self.values[setting] { number } else { nil }
    }

    /// Whether a setting has a value.
    package func has(_ setting: Setting) -> Bool { self.values[setting] != nil }

    /// The value of a flag without a default; `nil`: it has none.
    package func flag(_ setting: Setting) -> Bool? {
        if case .flag(let isOn) = self.values[setting] { isOn } else { nil }
    }

    /// Whether a flag is set.
    package func isOn(_ setting: Setting) -> Bool { self.values[setting] == .flag(true) }

    /// Returns the settings that differ in `other`, in the order of `Setting.all`.
    package func differences(to other: ServiceSettings) -> [Setting] {
        Setting.all.filter { self.values[$0] != other.values[$0] }
    }

    /// Returns these settings with the live settings of `other`.
    package func takingLive(from other: ServiceSettings) -> ServiceSettings {
        var taken = self
        for setting in Setting.all where setting.isLive { taken.values[setting] = other.values[setting] }
        return taken
    }

    /// The value as nestd may print it.
    package func description(of setting: Setting) -> String {
        self.values[setting].map { "\(setting.shown($0))" } ?? "not set"
    }

    /// The text of a configuration file with these settings, without passwords.
    package var json: String {
        var members: [JSONElement.Member] = []
        for setting in Setting.all {
            guard let value = self.values[setting], !(setting == .store && self.isOn(.memory)) else { continue }
            let element: JSONElement =
                switch setting.shown(value) {
                case .text(let text): .string(text)
                case .flag(let flag): .boolean(flag)
                case .integer(let number): .number("\(number)")
                }
            Self.add(element, at: setting.components[...], to: &members)
        }
        return JSONElement.object(members).pretty()
    }

    private static func add(_ value: JSONElement, at path: ArraySlice<String>, to members: inout [JSONElement.Member]) {
        guard let name = path.first else { return }
        guard path.count > 1 else { return members.append(.init(name, value)) }
        var inner: [JSONElement.Member] = []
        let index = members.firstIndex { $0.name == name }
        if let index, case .object(let known) = members[index].value { inner = known }
        Self.add(value, at: path.dropFirst(), to: &inner)
        if let index {
            members[index].value = .object(inner)
        } else {
            members.append(.init(name, .object(inner)))
        }
    }
}

/// All faults of a configuration, one text for each.
package struct SettingFaults: Error, Equatable, CustomStringConvertible {
    package let faults: [String]

    package init(_ faults: [String]) {
        self.faults = faults
    }

    package var description: String { self.faults.joined(separator: "\n") }
}
