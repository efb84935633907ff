import NestModel

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The user's directory for what programs keep between their runs.
enum StateDirectory {
    /// The path of a directory of nest. It may not exist yet. Throws `invalid` if the user has no home directory.
    static func path(_ name: String) throws(NestError) -> String { try Self.home() + "/nest/\(name)" }

    private static func home() throws(NestError) -> String {
        #if canImport(Darwin)
        if let home = self.variable("HOME") { return "\(home)/Library/Application Support" }
        #else
        if let home = self.variable("XDG_STATE_HOME") { return home }
        if let home = self.variable("HOME") { return "\(home)/.local/state" }
        #endif
        throw NestError(.invalid, "there is no home directory")
    }

    /// Throws `invalid` if a file in the home directory would be in another user's way, as in that of the caller of
    /// `sudo`, or if there is no home directory.
    static func checkOwner() throws(NestError) {
        #if !canImport(Darwin)
        if let home = self.variable("XDG_STATE_HOME") { return try self.check(home, mustExist: false) }
        #endif
        if let home = self.variable("HOME") { try self.check(home, mustExist: true) }
    }

    private static func check(_ home: String, mustExist: Bool) throws(NestError) {
        guard home.hasPrefix("/") else { throw NestError(.invalid, "\(home) is no absolute path") }
        var status = stat()
        guard stat(home, &status) == 0 else {
            guard mustExist || errno != ENOENT else { return }
            throw NestError(.invalid, "cannot use \(home): \(String(cString: strerror(errno)))")
        }
        guard status.st_uid == geteuid() else { throw NestError(.invalid, "\(home) belongs to another user") }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Makes a directory and those above it, for this user only.
    static func make(_ directory: String) throws(NestError) {
        var path = ""
        for part in directory.split(separator: "/") {
            path += (path.isEmpty && !directory.hasPrefix("/") ? "" : "/") + part
            guard mkdir(path, 0o700) != 0, errno != EEXIST else { continue }
            let reason = String(cString: strerror(errno))
            // A directory of another user that exists may be refused with EACCES or EROFS.
            guard access(path, F_OK) != 0 else { continue }
            throw NestError(.invalid, "cannot create \(path): \(reason)")
        }
    }

    /// The names in a directory.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
