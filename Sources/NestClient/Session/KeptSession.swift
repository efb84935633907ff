import Logging
import NIOConcurrencyHelpers
import NestModel
import NestProtocol

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The file with the session that one client of a program keeps for a server. The client that has locked it has the
/// session; the system ends the lock with the process. All calls block, for the time of a few system calls.
///
///     opening ──no file──▶ absent ──keep──▶ held ──release──▶ ended
///        ├──locked──▶ held                    another client was faster, or a fault ──▶ inUse, impossible
///        └──another client has it──▶ inUse
package final class KeptSession: Sendable {
    private enum State {
        case absent(SessionPlace)
        case held(file: Int32, path: String)
        case ended(SessionKeeping)
    }

    private let logger: Logger
    private let state: NIOLockedValueBox<State>
    /// What the file said when it was opened; `nil`: nothing that can be used.
    package let record: SessionRecord?

    /// Opens the file, and locks it if it exists.
    package init(_ place: SessionPlace, logger: Logger) {
        self.logger = logger
        var record: SessionRecord?
        var state = State.absent(place)
        do throws(Refusal) {
            if let file = try Self.open(place.path, O_RDWR) {
                state = .held(file: file, path: place.path)
                record = Self.read(file, place.path, logger)
                // The time of the last use decides which file leaves first.
                futimens(file, nil)
            }
        } catch {
            state = .ended(Self.reported(error, logger))
        }
        self.record = record
        self.state = NIOLockedValueBox(state)
    }

    /// A client whose session cannot be kept.
    package init(impossible reason: String, logger: Logger) {
        self.logger = logger
        self.record = nil
        self.state = NIOLockedValueBox(.ended(Self.reported(.fault(reason), logger)))
    }

    deinit { self.release() }

    package var keeping: SessionKeeping {
        self.state.withLockedValue { state in
            switch state {
            case .absent: .undecided
            case .held(_, let path): .kept(path: path)
            case .ended(let keeping): keeping
            }
        }
    }

    /// Writes the session that the server has accepted, and makes the file if there is none. Does nothing if another
    /// client has it.
    package func keep(_ record: SessionRecord) {
        self.state.withLockedValue { state in
            do throws(Refusal) {
                switch state {
                case .ended: return
                case .held(let file, let path): try Self.write(record, to: file, path)
                case .absent(let place):
                    let file = try Self.create(place)
                    state = .held(file: file, path: place.path)
                    try Self.write(record, to: file, place.path)
                }
            } catch {
                if case .held(let file, _) = state { close(file) }
                state = .ended(Self.reported(error, self.logger))
            }
        }
    }

    /// Lets the next client of the program have the session.
    package func release() {
        self.state.withLockedValue { state in
            guard case .held(let file, let path) = state else { return }
            // A process that was forked has the descriptor too, and would keep the lock.
            flock(file, LOCK_UN)
            close(file)
            state = .ended(.kept(path: path))
        }
    }

    // MARK: The file

    /// Why a client does not have the file.
    private enum Refusal: Error {
        case inUse
        case fault(String)
    }

    private static func reported(_ refusal: Refusal, _ logger: Logger) -> SessionKeeping {
        guard case .fault(let reason) = refusal else { return .inUse }
        if Self.hasReported.withLockedValue({ reported in reported.insert(reason, max: Self.reasonsMax) }) {
            logger.warning(
                "the session ends with this client, so the next run of the program cannot undo its work: \(reason)"
            )
        }
        return .impossible(reason: reason)
    }

    /// A program with a thousand clients logs each reason once.
    private static let hasReported = NIOLockedValueBox<Set<String>>([])
    private static let reasonsMax = 32

    private static func create(_ place: SessionPlace) throws(Refusal) -> Int32 {
        do throws(NestError) {
            try StateDirectory.make(place.directory)
        } catch {
            throw .fault(error.message)
        }
        try self.makePrivate(place.directory)
        self.makeRoom(in: place.directory)
        guard let file = try self.open(place.path, O_RDWR | O_CREAT | O_EXCL) else { throw .inUse }
        return file
    }

    /// Opens and locks the file of this user. Returns `nil` if there is none, or if it must be new and is not.
    private static func open(_ path: String, _ flags: Int32) throws(Refusal) -> Int32? {
        let file = systemOpen(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else {
            if errno == ENOENT || errno == EEXIST { return nil }
            throw .fault("cannot open \(path): \(Self.errorText)")
        }
        do throws(Refusal) {
            return try self.lock(file, path) ? file : nil
        } catch {
            close(file)
            throw error
        }
    }

    /// Returns `false`, and closes the file, if it was removed meanwhile.
    private static func lock(_ file: Int32, _ path: String) throws(Refusal) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw .fault("\(path) is no file") }
        guard status.st_uid == geteuid() else { throw .fault("\(path) belongs to another user") }
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { throw .inUse }
            guard errno == EINTR else { throw .fault("cannot lock \(path): \(Self.errorText)") }
        }
        guard fstat(file, &status) == 0, status.st_nlink > 0 else {
            close(file)
            return false
        }
        return true
    }

    /// Returns what a locked file says. A secret that others could read is not used any more.
    private static func read(_ file: Int32, _ path: String, _ logger: Logger) -> SessionRecord? {
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        if status.st_mode & 0o077 != 0 {
            fchmod(file, 0o600)
            logger.warning("others could read \(path): a new session begins, and the file is private again")
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: SessionRecord.byteCount + 1)
        let count = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        return count == SessionRecord.byteCount
            ? SessionRecord(text: String(decoding: bytes[..<count], as: UTF8.self)) : nil
    }

    /// Writes in place: the lock keeps other clients from reading a part. After a crash a part is no session.
    private static func write(_ record: SessionRecord, to file: Int32, _ path: String) throws(Refusal) {
        let bytes = Array(record.text.utf8)
        guard ftruncate(file, 0) == 0, pwrite(file, bytes, bytes.count, 0) == bytes.count else {
            throw .fault("cannot write \(path): \(Self.errorText)")
        }
    }

    private static func makePrivate(_ directory: String) throws(Refusal) {
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw .fault("\(directory) is no directory")
        }
        guard status.st_uid == geteuid() else { throw .fault("\(directory) belongs to another user") }
        if status.st_mode & 0o077 != 0, chmod(directory, 0o700) != 0 {
            throw .fault("cannot make \(directory) private: \(Self.errorText)")
        }
    }

    /// Removes the files that were least recently used, if there are too many: each server of a test has another port.
    private static func makeRoom(in directory: String) {
        let paths = StateDirectory.names(in: directory).map { "\(directory)/\($0)" }
        guard paths.count >= Limits.keptSessionsMax else { return }
        let byUse = paths.compactMap { path -> (seconds: Int, nanoseconds: Int, path: String)? in
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            #if canImport(Darwin)
            let time = status.st_mtimespec
            #else
            let time = status.st_mtim
            #endif
            return (time.tv_sec, time.tv_nsec, path)
        }
        var excess = paths.count - Limits.keptSessionsMax + 1
        for (_, _, path) in byUse.sorted(by: <) where excess > 0 {
            // One that is in use stays.
            guard let file = try? self.open(path, O_RDWR) else { continue }
            if unlink(path) == 0 { excess -= 1 }
            close(file)
        }
    }

    private static var errorText: String { String(cString: strerror(errno)) }
}

extension Set<String> {
    /// Returns whether the element is new and was inserted.
    fileprivate mutating func insert(_ element: String, max: Int) -> Bool {
        self.count < max && self.insert(element).inserted
    }
}

// `open` of the system, which a method of the same name hides.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
