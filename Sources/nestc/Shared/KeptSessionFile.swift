/// A file with a session of this user: one in use, or one that was replaced and can be adopted again.
struct KeptSessionFile {
    var server: String
    var isCurrent: Bool
    var path: String
    /// Whether no other user can access it.
    var isPrivate: Bool

    /// Returns the files of all servers. For each server, the current session comes first.
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
        return files.sorted { ($0.server, $0.isCurrent ? 0 : 1, $0.path) < ($1.server, $1.isCurrent ? 0 : 1, $1.path) }
    }

    /// `HOST_PORT` is a current session, `HOST_PORT.3` a replaced one. Other names are not sessions.
    private init?(_ name: String, in directory: String) {
        guard let match = name.wholeMatch(of: /(.+)_([0-9]+)(\.[0-9]+)?/) else { return nil }
        self.path = "\(directory)/\(name)"
        var status = stat()
        guard stat(self.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.server = "\(match.1):\(match.2)"
        self.isCurrent = match.3 == nil
        self.isPrivate = status.st_mode & 0o077 == 0
    }
}
