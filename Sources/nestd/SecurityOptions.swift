import ArgumentParser
import NestOperations
import NestServer

/// The command line's options for tokens and encryption.
struct SecurityOptions: ParsableArguments {
    /// When a client needs a token.
    enum Authentication: String, ExpressibleByArgument, CaseIterable {
        case auto, required, none
    }

    @Option(
        help: """
            When clients need a token: required (always), none (never), or auto: if the store has a token, and always \
            on an address that other machines can reach. (default: auto)
            """
    )
    var auth: Authentication?

    @Option(help: ArgumentHelp("Use TLS with this certificate and its chain, in PEM.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The key of --tls-cert, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("Accept only clients with a certificate of this authority, in PEM.", valueName: "file"))
    var tlsClientCa: String?

    @Option(
        help: ArgumentHelp(
            """
            In a cluster, connect only to nodes with a certificate of this authority, in PEM. Nodes that connect to \
            this one are checked like clients: --tls-client-ca. (default: the system's authorities)
            """,
            valueName: "file"
        )
    )
    var tlsPeerCa: String?

    @Flag(
        help: """
            Listen on an address that other machines can reach even without TLS or tokens. In a cluster, also connect \
            to other machines without TLS.
            """
    )
    var insecure = false
}

/// The security settings in force.
struct Security {
    /// The hosts that nestd listens on, for clients and for browsers.
    private let hosts: [String]
    private let isInsecure: Bool
    private let authentication: SecurityOptions.Authentication
    private let certificate: String?
    private let key: String?
    private let clientAuthority: String?
    private let peerAuthority: String?
    private let settings: ServiceSettings

    init(_ settings: ServiceSettings) {
        self.settings = settings
        self.hosts = [settings.text(.host) ?? "", WebSettings.host(settings)].compactMap { $0 }
        self.isInsecure = settings.isOn(.insecure)
        self.authentication = settings.text(.auth).flatMap(SecurityOptions.Authentication.init(rawValue:)) ?? .auto
        self.certificate = settings.text(.tlsCert)
        self.key = settings.text(.tlsKey)
        self.clientAuthority = settings.text(.tlsClientCA)
        self.peerAuthority = settings.text(.tlsPeerCA)
    }

    /// The faults of the settings: options that do not belong together, and options that would open the store to other
    /// machines by accident.
    var faults: [String] {
        var faults: [String] = []
        if (self.certificate == nil) != (self.key == nil) {
            let (given, missing): (Setting, Setting) =
                self.key == nil ? (.tlsCert, .tlsKey) : (.tlsKey, .tlsCert)
            let names = (self.settings.spelling(of: given), self.settings.spelling(of: missing, besides: given))
            faults.append("\(names.0) needs \(names.1): a certificate and its key must be specified together")
        }
        if self.clientAuthority != nil, self.certificate == nil {
            let name = self.settings.spelling(of: .tlsClientCA)
            let needed = [Setting.tlsCert, .tlsKey].map { self.settings.spelling(of: $0, besides: .tlsClientCA) }
            faults.append("\(name) needs \(needed[0]) and \(needed[1])")
        }
        if self.peerAuthority != nil {
            let name = self.settings.spelling(of: .tlsPeerCA)
            let needed = ([.tlsCert, .tlsKey, .logURL] as [Setting]).filter { self.settings.text($0) == nil }
            let names = needed.map { self.settings.spelling(of: $0, besides: .tlsPeerCA) }
            if !names.isEmpty { faults.append("\(name) needs \(names.joined(separator: " and "))") }
        }
        guard !self.isInsecure, let host = self.reachableHost else { return faults }
        let wants: String
        if self.certificate == nil {
            wants = "nothing would be encrypted: add --tls-cert and --tls-key"
        } else if self.authentication == .none, self.clientAuthority == nil {
            let auth = self.settings.spelling(of: .auth)
            wants = "every client would be an administrator: omit \(auth) none, or add --tls-client-ca"
        } else {
            return faults
        }
        let option = host == self.hosts[0] ? "--host 127.0.0.1" : "--web 127.0.0.1:7080"
        let advice = "Or use \(option), or add --insecure to allow it"
        faults.append("refused: other machines can reach \(host), and \(wants). \(advice)")
        return faults
    }

    /// A host that other machines can reach; `nil`: there is none.
    private var reachableHost: String? { self.hosts.first { !Loopback.contains($0) } }

    var policy: AccessTable.Policy {
        switch self.authentication {
        case .required: .required
        case .none: .open
        case .auto:
            self.isInsecure || self.clientAuthority != nil || self.reachableHost == nil ? .ifTokens : .required
        }
    }

    private var files: ServerTLS.Files? {
        guard let certificate = self.certificate, let key = self.key else { return nil }
        return ServerTLS.Files(certificate: certificate, key: key, clientAuthority: self.clientAuthority)
    }

    func serverTLS() throws -> ServerTLS? {
        try self.files.map { files in try Self.read { () throws(ServerTLS.Failure) in try ServerTLS(files) } }
    }

    /// How a node of a cluster talks to the others: as it expects it of them.
    func peerTLS() throws -> PeerTLS? {
        try self.files.map { files in
            try Self.read { () throws(ServerTLS.Failure) in try PeerTLS(files, authority: self.peerAuthority) }
        }
    }

    private static func read<Value>(_ body: () throws(ServerTLS.Failure) -> Value) throws -> Value {
        do throws(ServerTLS.Failure) { return try body() } catch { throw Nestd.failure(78, "\(error)") }
    }
}
