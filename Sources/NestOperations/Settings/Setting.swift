/// A setting of nestd. A flag, the environment and the configuration file specify it under the same name.
///
/// `log.level` is `--log-level`, `NESTD_LOG_LEVEL` and `{"log": {"level": …}}`. No setting is a secret: keys and tokens
/// are in separate files, and settings have the paths of these.
package struct Setting: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case text, flag
        case integer(ClosedRange<Int>)
        case choice([String])
    }

    /// Its name in the file, with a dot where an object begins.
    package let key: String
    package let kind: Kind
    package let fallback: SettingValue?
    /// Whether a running nestd applies a new value on SIGHUP.
    package let isLive: Bool

    package init(_ key: String, _ kind: Kind, default fallback: SettingValue? = nil, isLive: Bool = false) {
        self.key = key
        self.kind = kind
        self.fallback = fallback
        self.isLive = isLive
    }

    var components: [String] { self.key.split(separator: ".").map(String.init) }

    /// The description of a valid value, for the text of a fault.
    var wanted: String {
        switch self.kind {
        case .text: "a text that is not empty"
        case .flag: "true or false"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let names): "one of \(names.joined(separator: ", "))"
        }
    }

    /// Whether a value has the right type and is allowed.
    func allows(_ value: SettingValue) -> Bool {
        switch (self.kind, value) {
        case (.text, .text(let text)): !text.isEmpty
        case (.flag, .flag): true
        case (.integer(let range), .integer(let number)): range.contains(number)
        case (.choice(let names), .text(let name)): names.contains(name)
        default: false
        }
    }
}

/// The value of a setting.
package enum SettingValue: Hashable, Sendable, CustomStringConvertible {
    case text(String)
    case flag(Bool)
    case integer(Int)

    package var description: String {
        switch self {
        case .text(let text): text
        case .flag(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        }
    }
}
