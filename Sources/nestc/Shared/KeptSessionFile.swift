/// A file with a session of this user: one in use, or one that was replaced and can be adopted again.
struct KeptSessionFile {
    /// The addresses of the servers.
    var server: String
    /// The same as in the names of files: `HOST_PORT`.
    var names: Set<String>
    /// The number of the token with which the session is used; `nil` without a token.
    var token: UInt64?
    var isCurrent: Bool
    var path: String
    /// Whether no other user can access it.
    var isPrivate: Bool

    /// Returns the files of all servers. For each server and token, the current session comes first.
    static func all() throws -> [KeptSessionFile] {
        let directory = try SessionFile.directory()
        guard let stream = opendir(directory) else {
            if errno == ENOENT { return [] }
            throw CommandFailure(.configuration, "cannot read \(directory): \(errorText(errno))")
        }
        defer { closedir(stream) }
        var files: [KeptSessionFile] = []
        while let entry = readdir(stream) {
            if let file = Self(entryName(entry), in: directory) { files.append(file) }
        }
        return files.sorted {
            ($0.server, $0.token ?? 0, $0.isCurrent ? 0 : 1, $0.path)
                < ($1.server, $1.token ?? 0, $1.isCurrent ? 0 : 1, $1.path)
        }
    }

    /// `HOST_PORT`, `HOST_PORT_token2` and `HOST_PORT,HOST_PORT` are current sessions, `HOST_PORT.3` a replaced one.
    /// Other names are not sessions.
    private init?(_ name: String, in directory: String) {
        guard let match = name.wholeMatch(of: /(.+?)_([0-9]+)(?:_token([0-9]+))?(\.[0-9]+)?/) else { return nil }
        self.path = "\(directory)/\(name)"
        var status = stat()
        guard stat(self.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let names = "\(match.1)_\(match.2)".split(separator: ",").map(String.init)
        self.names = Set(names)
        self.server = names.map { name in
            guard let end = name.lastIndex(of: "_") else { return name }
            return name.hasPrefix("+") ? "\(name[..<end])" : "\(name[..<end]):\(name[name.index(after: end)...])"
        }.joined(separator: ",")
        self.token = match.3.flatMap { UInt64($0) }
        self.isCurrent = match.4 == nil
        self.isPrivate = status.st_mode & 0o077 == 0
    }
}
