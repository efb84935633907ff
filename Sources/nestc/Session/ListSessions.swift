import ArgumentParser
import NestFormats

struct ListSessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the sessions that are kept for this user.",
        discussion: """
            Examples:
              nestc session list
              nestc session list --json

            For each server the session in use, and those that 'adopt' and 'new' have replaced: 'nestc session adopt - < FILE'
            takes one back. Their secrets are in the files and are not printed.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var output = Output()
        for file in try Self.files() {
            if self.global.json {
                try output.line(
                    .object { json in
                        json.field("server", file.server)
                        json.field("current", file.isCurrent)
                        json.field("file", file.path)
                        json.field("private", file.isPrivate)
                    }
                )
            } else {
                try output.line(
                    "\(file.server)\t\(file.isCurrent ? "current" : "replaced")\t\(output.shown(file.path))"
                )
            }
            if !file.isPrivate, !self.global.quiet { tell("others can read \(file.path): chmod 600") }
        }
        try output.flush()
    }

    private struct File {
        var server: String
        var isCurrent: Bool
        var path: String
        var isPrivate: Bool
    }

    /// Those in use first, by server.
    private static func files() throws -> [File] {
        let directory = try SessionFile.directory()
        guard let stream = opendir(directory) else {
            if errno == ENOENT { return [] }
            throw CommandFailure(.configuration, "cannot read \(directory): \(errorText(errno))")
        }
        defer { closedir(stream) }
        var files: [File] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let file = Self.file(name, in: directory) { files.append(file) }
        }
        return files.sorted { ($0.server, $0.isCurrent ? 0 : 1, $0.path) < ($1.server, $1.isCurrent ? 0 : 1, $1.path) }
    }

    /// `HOST_PORT` is in use, `HOST_PORT.3` was replaced; anything else is no session.
    private static func file(_ name: String, in directory: String) -> File? {
        guard let match = name.wholeMatch(of: /(.+)_([0-9]+)(\.[0-9]+)?/) else { return nil }
        let path = "\(directory)/\(name)"
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return File(
            server: "\(match.1):\(match.2)",
            isCurrent: match.3 == nil,
            path: path,
            isPrivate: status.st_mode & 0o077 == 0
        )
    }
}
