import Configuration
import Foundation
import NestDocuments
import NestModel

/// A source of settings: a provider of swift-configuration, and where it comes from.
struct SettingSource {
    let origin: SettingOrigin
    let provider: any ConfigProvider

    /// Creates a source from the command line.
    init(flags: [Setting: SettingValue]) {
        self.origin = .commandLine
        self.provider = InMemoryProvider(
            name: self.origin.description,
            values: Dictionary(
                uniqueKeysWithValues: flags.map { setting, value in
                    (AbsoluteConfigKey(setting.components), ConfigValue(value.content, isSecret: false))
                }
            )
        )
    }

    static let prefix = "NESTD_"
    /// The path of the configuration file, which is not a setting.
    static let fileVariable = "NESTD_CONFIG"

    /// Creates a source from the environment variables that begin with `NESTD_`.
    init(environment: [String: String], _ faults: inout [String]) {
        self.origin = .environment
        self.provider = EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "nestd")
        let known = Setting.all.map(\.variable)
        for name in environment.keys.sorted()
        where name.hasPrefix(Self.prefix) && name != Self.fileVariable && !known.contains(name) {
            faults.append("\(self.origin): there is no setting \(name)" + NearestName.hint(name, among: known))
        }
    }

    /// Creates a source from a file, which is one JSON object of values and of objects of values.
    init(path: String, bytes: [UInt8], _ faults: inout [String]) {
        self.origin = .file(path)
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        do {
            Self.read(try JSONElement.parseObject(bytes), under: [], into: &values)
        } catch {
            faults.append("\(path): \(error)")
        }
        self.provider = InMemoryProvider(name: path, values: values)
        let known = Setting.all.map(\.key)
        for key in values.keys.map({ $0.components.joined(separator: ".") }).sorted() where !known.contains(key) {
            let line = Self.line(of: key, in: bytes).map { ", line \($0)" } ?? ""
            faults.append("\(path)\(line): there is no setting \(key)" + NearestName.hint(key, among: known))
        }
    }

    private static func read(
        _ members: [JSONElement.Member],
        under path: [String],
        into values: inout [AbsoluteConfigKey: ConfigValue]
    ) {
        for member in members {
            let components = path + [member.name]
            let content: ConfigContent
            switch member.value {
            case .object(let members) where !members.isEmpty:
                Self.read(members, under: components, into: &values)
                continue
            case .string(let text): content = .string(text)
            case .boolean(let flag): content = .bool(flag)
            case .number(let digits): content = Int(digits).map { .int($0) } ?? .double(Double(digits) ?? 0)
            // No setting has this type, so the look-up refuses it.
            case .null, .array, .object: content = .bytes([])
            }
            values[AbsoluteConfigKey(components)] = ConfigValue(content, isSecret: false)
        }
    }

    /// Returns the line of a key's last name, if the text has that name once.
    private static func line(of key: String, in bytes: [UInt8]) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        let name = "\"\(key.split(separator: ".").last ?? "")\""
        let parts = text.split(separator: name, omittingEmptySubsequences: false)
        return parts.count == 2 ? parts[0].utf8.count { $0 == 0x0a } + 1 : nil
    }

    /// Returns the source's value of a setting; `nil` when it has none. An invalid value is a fault.
    func value(of setting: Setting, _ faults: inout [String]) -> SettingValue? {
        let type: ConfigType =
            switch setting.kind {
            case .text, .url, .choice: .string
            case .flag: .bool
            case .integer: .int
            }
        do {
            let found = try self.provider.value(forKey: AbsoluteConfigKey(setting.components), type: type).value
            guard let found else { return nil }
            if let value = SettingValue(found.content), setting.allows(value) { return value }
        } catch {
            // The provider could not convert the value to the setting's type.
        }
        faults.append("\(self.origin.spelling(of: setting)) must be \(setting.wanted)")
        return nil
    }
}

extension Setting {
    /// The setting's name in the environment, as swift-configuration forms it.
    package var variable: String {
        SettingSource.prefix + self.words.joined(separator: "_").uppercased()
    }

    /// The setting's name on the command line. Not every setting has an option there.
    var option: String { self.ownOption ?? "--" + self.words.joined(separator: "-").lowercased() }

    private var words: [String] {
        self.components.map { $0.replacing(/([a-z])([A-Z])/) { "\($0.1)_\($0.2)" } }
            .flatMap { $0.split(separator: "_").map(String.init) }
    }
}

extension SettingValue {
    fileprivate init?(_ content: ConfigContent) {
        switch content {
        case .string(let text): self = .text(text)
        case .bool(let flag): self = .flag(flag)
        case .int(let number): self = .integer(number)
        default: return nil
        }
    }

    fileprivate var content: ConfigContent {
        switch self {
        case .text(let text): .string(text)
        case .flag(let flag): .bool(flag)
        case .integer(let number): .int(number)
        }
    }
}
