import NestClient
import NestModel

/// The options for the connection to a server and for authentication, of the client and of the server. Flags override
/// the environment, which overrides the current context.
struct ConnectOptions {
    var server: String?
    var context: String?
    var tokenFile: String?
    var user: String?
    var tls = false
    var tlsCa: String?
    var tlsServerName: String?
    var tlsCert: String?
    var tlsKey: String?
    var insecure = false

    /// The options that take a value. They may precede the command's name.
    static let valueOptions = [
        "--server", "--context", "--token-file", "--user", "--tls-ca", "--tls-server-name", "--tls-cert", "--tls-key",
    ]
    static let flags = ["--tls", "--insecure"]

    /// Returns the effective settings: those of the flags, and otherwise those of the context.
    func resolved() throws -> SavedContext {
        var saved = try self.base()
        if let file = self.tokenFile ?? environment("NEST_TOKEN_FILE") { saved.tokenFile = file }
        if let user = self.user ?? environment("NEST_USER") { saved.user = user }
        try Self.checkUser(saved.user)
        if self.tls { saved.tls = true }
        saved.tlsCA = self.tlsCa ?? saved.tlsCA
        saved.tlsServerName = self.tlsServerName ?? saved.tlsServerName
        saved.tlsCert = self.tlsCert ?? saved.tlsCert
        saved.tlsKey = self.tlsKey ?? saved.tlsKey
        if self.tlsCa != nil || self.tlsServerName != nil || self.tlsCert != nil || self.tlsKey != nil {
            saved.tls = true
        }
        return saved
    }

    /// Returns the settings before the flags apply. A server that is specified by address gets no settings of a
    /// context: above all, a context's token must not be sent to another server.
    private func base() throws -> SavedContext {
        guard self.server == nil || self.context == nil else {
            throw CommandFailure(.usage, "use --server or --context, not both")
        }
        if let server = self.server { return try SavedContext(at: Self.addresses(server, from: "--server")) }
        if let name = self.context { return try ContextFile.read().context(name) }
        if let name = environment("NEST_CONTEXT") {
            return try naming("NEST_CONTEXT") { try ContextFile.read().context(name) }
        }
        if let server = environment("NEST_SERVER") {
            return try SavedContext(at: Self.addresses(server, from: "NEST_SERVER"))
        }
        let file = try ContextFile.readIfAny()
        return try file.current.map { try file.context($0) } ?? SavedContext(at: ServerAddresses(ServerAddress()))
    }

    /// The environment variables with which another nestc connects as these options do. Without a context, TLS has the
    /// system's authorities there: the other options of TLS have no variables.
    func variables() throws -> [String: String] {
        let saved = try self.resolved()
        let name = self.server == nil ? self.context ?? environment("NEST_CONTEXT") : nil
        let isCurrent = self.server == nil && name == nil && environment("NEST_SERVER") == nil
        return [
            "NEST_SERVER": try Self.addresses(saved.server, from: "the server").text(usesTLS: saved.isTLS),
            "NEST_CONTEXT": try name ?? (isCurrent ? ContextFile.readIfAny().current : nil) ?? "",
            "NEST_TOKEN_FILE": saved.tokenFile.map(absolutePath) ?? "",
            "NEST_USER": saved.user ?? "",
        ]
    }

    /// Reads the file with the token, if there is one.
    func token(_ saved: SavedContext) throws -> AccessToken? {
        guard let file = saved.tokenFile else { return nil }
        guard self.tokenFile == nil, environment("NEST_TOKEN_FILE") == file else { return try TokenFile.read(file) }
        return try naming("NEST_TOKEN_FILE") { try TokenFile.read(file) }
    }

    /// Refuses a label that no server accepts.
    static func checkUser(_ user: String?) throws {
        guard let user, user.utf8.count > Limits.nameBytesMax else { return }
        throw CommandFailure(.usage, "--user has at most \(Limits.nameBytesMax) bytes")
    }

    /// Reads a list of addresses. `source`: what specifies it, for the message.
    static func addresses(_ text: String, from source: String) throws -> ServerAddresses {
        do {
            return try ServerAddresses(text)
        } catch {
            throw CommandFailure(.usage, "\(source): \(error.message)")
        }
    }
}

/// Runs `body`. Begins the message of a failure with the name of what the user has to correct.
func naming<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let failure as CommandFailure {
        throw CommandFailure(failure.status, "\(name): \(failure.message)")
    }
}
