import NestClient
import NestModel

/// The file with the session's secret, which gives access to its undo stack. There is one for each user, server and
/// token, in `$XDG_STATE_HOME/nest/sessions` (default `~/.local/state/nest/sessions`). Only the user can read it.
///
/// The addresses of a list have one session, so that a user can undo at any node of a cluster. Which file that is:
///
/// 1. the list's own;
/// 2. the only kept one whose list contains all these addresses, for example when a user names one node of it;
/// 3. the only kept one with some of these addresses, which gets the list's name: a single server has become a
///    cluster, or a node was added.
///
/// A session for each token keeps apart what the user does with different rights: with a confined token, the history
/// would otherwise list changes that the token cannot see.
struct SessionFile {
    let directory: String
    let path: String
    /// A kept file that gets this name when the session is first used.
    private let former: String?

    /// `HOST_PORT`, or `HOST_PORT,HOST_PORT` for a list, with `_tokenN` behind it for a token.
    init(_ servers: ServerAddresses, _ token: AccessToken?) throws {
        self.directory = try Self.directory()
        let names = Set(servers.all.map(Self.name))
        let path = "\(self.directory)/\(Self.name(of: names))" + (token.map { "_token\($0.number)" } ?? "")
        let kept =
            try access(path, F_OK) == 0
            ? []
            : KeptSessionFile.all().filter { file in
                file.isCurrent && file.token == token?.number && !file.names.isDisjoint(with: names)
            }
        let lists = kept.filter { $0.names.isSuperset(of: names) }
        self.path = lists.count == 1 ? lists[0].path : path
        self.former = lists.isEmpty && kept.count == 1 ? kept[0].path : nil
    }

    private init(path: String) throws {
        self.directory = try Self.directory()
        self.path = path
        self.former = nil
    }

    private static func name(_ address: ServerAddress) -> String {
        "\(address.host)_\(address.port)".unicodeScalars.map { scalar in
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || "._-".unicodeScalars.contains(scalar)
                ? String(scalar) : "_"
        }.joined()
    }

    /// The longest name of a file, without what may follow.
    private static let nameBytesMax = 200

    /// The names in order, with commas. A long list is shortened to its first name, the number of others and a digest:
    /// `HOST_PORT,+31_5817…`. Rules 2 and 3 know only its first address then.
    private static func name(of names: Set<String>) -> String {
        let sorted = names.sorted()
        let name = sorted.joined(separator: ",")
        guard name.utf8.count > Self.nameBytesMax else { return name }
        // FNV-1a: the name must stay the same for ever.
        let digest = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "\(sorted[0]),+\(sorted.count - 1)_\(digest)"
    }

    /// Returns the directory of this user's sessions.
    static func directory() throws -> String {
        if let home = environment("XDG_STATE_HOME") { return "\(home)/nest/sessions" }
        if let home = environment("HOME") { return "\(home)/.local/state/nest/sessions" }
        throw CommandFailure(
            .configuration,
            "neither XDG_STATE_HOME nor HOME is set: specify the session with --session"
        )
    }

    private var secret: SessionSecretFile { SessionSecretFile(path: self.path) }

    /// Returns the session in the file. Creates a session the first time.
    func session() throws -> Identifier128 {
        if let session = try self.read() { return session }
        if let former, rename(former, self.path) == 0, let session = try self.read() { return session }
        return try Self.configured { () throws(NestError) in try self.secret.session() }
    }

    static func newSession() -> Identifier128 {
        var random = SystemRandomNumberGenerator()
        return Identifier128.random(using: &random)
    }

    /// Replaces the session in the file. Returns the path where the previous session is kept, or `nil` if there was
    /// none or it is the same. Deletes the kept copy of the session that becomes current.
    func replace(with session: Identifier128) throws -> String? {
        guard let old = try self.read() else {
            try self.put(session)
            return nil
        }
        guard old != session else { return nil }
        let backup = try self.keepOld()
        try self.put(session)
        for file in try KeptSessionFile.all() where file.path.hasPrefix("\(self.path).") {
            if try SessionFile(path: file.path).read() == session { unlink(file.path) }
        }
        return backup
    }

    /// Links the file to a free name: `PATH.1`, `PATH.2` … Returns that name.
    private func keepOld() throws -> String {
        for number in 1... {
            let backup = "\(self.path).\(number)"
            if link(self.path, backup) == 0 { return backup }
            guard errno == EEXIST else { throw Self.failure("cannot create \(backup): \(errorText(errno))") }
        }
        preconditionFailure("there is a free number")
    }

    private func put(_ session: Identifier128) throws {
        try Self.configured { () throws(NestError) in try self.secret.put(session) }
    }

    func read() throws -> Identifier128? {
        try Self.configured { () throws(NestError) in try self.secret.read() }
    }

    /// Reports a file that cannot be used as a fault of the configuration.
    private static func configured<Result>(_ body: () throws(NestError) -> Result) throws -> Result {
        do throws(NestError) {
            return try body()
        } catch {
            throw self.failure(error.message)
        }
    }

    private static func failure(_ text: String) -> CommandFailure {
        CommandFailure(.configuration, "\(text); --session specifies another")
    }
}
