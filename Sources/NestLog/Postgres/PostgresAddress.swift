import CPQ
import Glibc
import NestStore

/// Where the log's servers are: a URL or connection string of libpq, taken apart by host, so that a server that
/// accepts connections and never answers does not hide the others.
struct PostgresAddress: Sendable {
    /// libpq's parameters for each host, in order.
    let hosts: [[String: String]]
    /// Time for one host.
    let connectTime: Duration
    /// Never part of a message.
    private let secrets: [String]

    private static let connectSeconds = 3

    init(_ url: String, applicationName: String) throws(LogFailure) {
        var parameters = try Self.parsed(url)
        self.secrets = ["password", "sslpassword"].compactMap { parameters[$0] }.filter { $0 != "" }
        // A password with / or @ that is not percent-encoded ends up in another parameter, and then in messages.
        for name in ["host", "port", "dbname", "user"] where url.contains("://") {
            guard let value = parameters[name], value.contains("@") else { continue }
            throw .unusable(
                "the address of the log has an @ in its \(name): write / as %2F, : as %3A and @ as %40 in a user name "
                    + "or password"
            )
        }
        func setting(_ name: String, _ variable: String) -> String? {
            parameters[name] ?? getenv(variable).map { String(cString: $0) }
        }
        for (name, value) in Self.defaults where parameters[name] == nil { parameters[name] = value }
        if parameters["fallback_application_name"] == nil {
            parameters["fallback_application_name"] = applicationName
        }
        // Servers in recovery refuse: libpq then takes the next host.
        if setting("target_session_attrs", "PGTARGETSESSIONATTRS") == nil {
            parameters["target_session_attrs"] = "read-write"
        }
        // The codec of text parameters.
        parameters["client_encoding"] = "UTF8"
        let seconds = setting("connect_timeout", "PGCONNECT_TIMEOUT").flatMap { Int($0) } ?? 0
        self.connectTime = .seconds(seconds > 0 ? seconds : Self.connectSeconds)
        self.hosts = try Self.hosts(
            parameters,
            names: setting("host", "PGHOST"),
            addresses: setting("hostaddr", "PGHOSTADDR"),
            ports: setting("port", "PGPORT")
        )
    }

    /// A dead server is noticed within seconds, unless the address says otherwise.
    private static let defaults = [
        "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3", "tcp_user_timeout": "6000",
    ]

    /// Returns a message without passwords.
    func scrubbed(_ message: String) -> String {
        self.secrets.reduce(message) { $0.replacing($1, with: "***") }
    }

    private static func parsed(_ url: String) throws(LogFailure) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            let reason = message.map { String(cString: $0) } ?? "no memory"
            PQfreemem(message)
            // The message quotes the address, which may contain a password.
            let quoted = url.contains("@") || url.contains("password") ? "" : " (\(reason.trimmed))"
            throw .unusable(
                "the address of the log is neither postgres://USER@HOST:PORT/DATABASE nor a connection string of "
                    + "libpq\(quoted)"
            )
        }
        defer { PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return parameters
    }

    private static func hosts(
        _ parameters: [String: String],
        names: String?,
        addresses: String?,
        ports: String?
    ) throws(LogFailure) -> [[String: String]] {
        func list(_ text: String?) -> [String] {
            text?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        }
        let (names, addresses, ports) = (list(names), list(addresses), list(ports))
        let count = max(names.count, addresses.count, 1)
        guard [0, count].contains(names.count), [0, count].contains(addresses.count),
            [0, 1, count].contains(ports.count)
        else { throw .unusable("the address of the log has \(count) hosts, and another number of ports or addresses") }
        return (0..<count).map { index in
            var host = parameters
            if !names.isEmpty { host["host"] = names[index] }
            if !addresses.isEmpty { host["hostaddr"] = addresses[index] }
            if !ports.isEmpty { host["port"] = ports.count == 1 ? ports[0] : ports[index] }
            return host
        }
    }
}

extension String {
    /// Without white space at its ends, and on one line.
    var trimmed: String {
        self.split(whereSeparator: \.isNewline).map { $0.split(separator: " ").joined(separator: " ") }
            .filter { $0 != "" }.joined(separator: "; ")
    }
}
