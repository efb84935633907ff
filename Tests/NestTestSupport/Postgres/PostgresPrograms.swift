import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// The programs of the installed PostgreSQL.
///
/// PostgreSQL refuses to run as root. Tests that run as root start its programs as the user `postgres`, which the
/// package of Debian creates.
enum PostgresPrograms {
    private static let user = "postgres"
    private static let setpriv = "/usr/bin/setpriv"
    static let isRoot = getuid() == 0

    /// The directory of the newest server; `nil` if none is installed.
    static let directory: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let places = versions.sorted(by: >).map { "\(root)/\($0)/bin" } + path.split(separator: ":").map(String.init)
        return places.first { place in
            ["postgres", "initdb", "pg_basebackup", "psql"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: "\(place)/\($0)")
            }
        }
    }()

    /// Whether the tests can start a server.
    static let isUsable: Bool = {
        guard Self.directory != nil else { return false }
        return !Self.isRoot
            || (getpwnam(Self.user) != nil && FileManager.default.isExecutableFile(atPath: Self.setpriv))
    }()

    /// Starts a program, as `postgres` if the tests run as root. The process id is the program's own.
    static func start(_ name: String, _ arguments: [String]) throws -> ChildProcess {
        guard let directory else { throw ProcessFailure("PostgreSQL is not installed") }
        let environment = ["LC_ALL": "C"]
        guard Self.isRoot else {
            return try ChildProcess("\(directory)/\(name)", arguments, environment: environment)
        }
        let switching = ["--reuid", Self.user, "--regid", Self.user, "--init-groups", "--", "\(directory)/\(name)"]
        return try ChildProcess(Self.setpriv, switching + arguments, environment: environment)
    }

    /// Runs a program to its end and returns its output. Throws if it does not exit with 0.
    @discardableResult
    static func run(_ name: String, _ arguments: [String]) async throws -> String {
        let process = try Self.start(name, arguments)
        try await process.wait(forEnd: .exit(0))
        return process.output
    }

    /// Starts a process that waits for the end of the tests. If the server is there then, because the tests crashed or
    /// were killed, it kills the server and its sessions, which may be frozen, and removes the directory. The signals
    /// of a terminal do not end it.
    static func watch(_ server: pid_t, _ directory: String) throws -> ChildProcess {
        let script = """
            trap '' HUP INT TERM
            while kill -0 $1 && kill -0 $2; do sleep 0.5; done 2>/dev/null
            if ! kill -0 $1 2>/dev/null && grep -q "$3" /proc/$2/cmdline; then
                kill -9 $2 $(cat /proc/$2/task/$2/children)
                rm -rf "$3"
            fi
            """
        return try ChildProcess("/bin/sh", ["-c", script, "sh", "\(getpid())", "\(server)", directory])
    }

    /// Gives a directory to the user who runs the programs.
    static func give(_ path: String) throws {
        guard Self.isRoot, let entry = getpwnam(Self.user) else { return }
        guard chown(path, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0 else {
            throw ProcessFailure("cannot give \(path) to \(Self.user): \(String(cString: strerror(errno)))")
        }
    }

    /// Whether the RAM disk has room for a few servers. That of a container may have 64 MiB only.
    static let hasMemory: Bool = {
        var status = statvfs()
        guard statvfs("/dev/shm", &status) == 0 else { return false }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) > 1 << 30
    }()

    /// The processes whose parent this is.
    static func children(of parent: pid_t) -> [pid_t] {
        let path = "/proc/\(parent)/task/\(parent)/children"
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
    }
}
