/// A setting of nestd. A flag, the environment and the configuration file specify it under the same name.
///
/// `log.level` is `--log-level`, `NESTD_LOG_LEVEL` and `{"log": {"level": …}}`. Keys and tokens are in separate files,
/// and settings have the paths of these. Only the URL of a cluster's log may contain a secret.
package struct Setting: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case text, flag
        /// A text that may contain a password, which nestd never prints.
        case url
        case integer(ClosedRange<Int>)
        case choice([String])
    }

    /// Its name in the file, with a dot where an object begins.
    package let key: String
    package let kind: Kind
    package let fallback: SettingValue?
    /// Whether a running nestd applies a new value on SIGHUP.
    package let isLive: Bool
    /// Its name on the command line, if that does not follow from the key.
    let ownOption: String?

    package init(
        _ key: String,
        _ kind: Kind,
        default fallback: SettingValue? = nil,
        isLive: Bool = false,
        option: String? = nil
    ) {
        self.key = key
        self.kind = kind
        self.fallback = fallback
        self.isLive = isLive
        self.ownOption = option
    }

    var components: [String] { self.key.split(separator: ".").map(String.init) }

    /// The description of a valid value, for the text of a fault.
    var wanted: String {
        switch self.kind {
        case .text, .url: "a text that is not empty"
        case .flag: "true or false"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let names): "one of \(names.joined(separator: ", "))"
        }
    }

    /// Whether a value has the right type and is allowed.
    func allows(_ value: SettingValue) -> Bool {
        switch (self.kind, value) {
        case (.text, .text(let text)), (.url, .text(let text)): !text.isEmpty
        case (.flag, .flag): true
        case (.integer(let range), .integer(let number)): range.contains(number)
        case (.choice(let names), .text(let name)): names.contains(name)
        default: false
        }
    }
}

extension Setting {
    /// Returns a value as nestd may print it: without passwords.
    func shown(_ value: SettingValue) -> SettingValue {
        guard self.kind == .url, case .text(let text) = value else { return value }
        return .text(Self.hidingPassword(text))
    }

    /// Replaces the passwords in a URL, or in the `name=value` pairs that libpq also accepts.
    package static func hidingPassword(_ text: String) -> String {
        let hidden = "***"
        let url = text.replacing(/^([A-Za-z][A-Za-z0-9+.\-]*:\/\/[^\/:@]*):[^@]*@/) { "\($0.1):\(hidden)@" }
        // In pairs a value may be quoted, with backslashes before quotes.
        return url.replacing(/((?:^|[\s?&])(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]*)/) {
            "\($0.1)\(hidden)"
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
