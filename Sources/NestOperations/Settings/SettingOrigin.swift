/// Where a setting comes from. It decides how a fault spells the setting, so that the user finds what to correct.
enum SettingOrigin: Hashable, Sendable, CustomStringConvertible {
    case commandLine, environment
    case file(String)

    var description: String {
        switch self {
        case .commandLine: "the command line"
        case .environment: "the environment"
        case .file(let path): path
        }
    }

    /// Returns `--log-level`, `NESTD_LOG_LEVEL`, or `FILE: log.level`.
    func spelling(of settings: Setting...) -> String {
        switch self {
        case .commandLine: settings.map(\.option).joined(separator: " and ")
        case .environment: settings.map(\.variable).joined(separator: " and ")
        case .file(let path): "\(path): \(settings.map(\.key).joined(separator: " and "))"
        }
    }
}
