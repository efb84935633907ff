import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Records all operations on the SQLite files of one directory and can make the n-th operation fail. The files
/// themselves are real.
///
/// It sees only SQLite's operations, through `FaultyFileSystem`, not those of others on the directory.
public final class FaultyDisk: Sendable {
    /// An operation on a file, which is named by its name in the directory.
    public enum Event: Sendable {
        case create(String)
        case write(String, offset: Int, [UInt8])
        case truncate(String, size: Int)
        /// All earlier operations on the file are on the disk.
        case sync(String)
        /// All earlier creations, deletions and renamings are on the disk.
        case syncDirectory
        case delete(String)
        /// Recorded when the file is opened under its new name.
        case rename(String, to: String)
        /// A complete, synced file that another program made.
        case adopt(String, [UInt8])
    }

    public enum Operation: Hashable, Sendable, CaseIterable {
        case open, read, write, truncate, sync, delete, sharedMemory
    }

    /// The operation that fails and the kind of failure.
    public struct Fault: Sendable {
        public enum Effect: Sendable {
            /// ENOSPC, after half of the bytes are written.
            case full
            /// EIO.
            case inputOutput
        }

        public var operations: Set<Operation>
        /// The number of the failing operation, counted from 1.
        public var number: Int
        public var effect: Effect
        /// Whether later operations fail too, until the fault is removed.
        public var isLasting: Bool

        public init(_ operations: Set<Operation>, number: Int, _ effect: Effect, isLasting: Bool) {
            self.operations = operations
            self.number = number
            self.effect = effect
            self.isLasting = isLasting
        }
    }

    private struct State {
        var events: [Event] = []
        var fault: Fault?
        /// The number of operations of the fault's kinds since it was set.
        var count = 0
        var hits = 0
        /// The names of known files by inode.
        var names: [UInt64: String] = [:]
        var isRecording = true
    }

    public let directory: String
    private let state = Mutex(State())

    /// Watches a directory until deinit. `directory`: a path without symbolic links.
    public init(watching directory: String, isRecording: Bool = true) {
        self.directory = directory
        self.state.withLock { $0.isRecording = isRecording }
        FaultyFileSystem.watch(directory, self)
    }

    deinit {
        FaultyFileSystem.unwatch(self.directory)
    }

    public var events: [Event] { self.state.withLock { $0.events } }
    public var eventCount: Int { self.state.withLock { $0.events.count } }

    /// The number of failed operations.
    public var hits: Int { self.state.withLock { $0.hits } }

    /// Sets or removes the fault and resets the counters.
    public func set(_ fault: Fault?) {
        self.state.withLock {
            $0.fault = fault
            $0.count = 0
            $0.hits = 0
        }
    }

    // MARK: For the file system

    func record(_ event: Event) {
        self.state.withLock { if $0.isRecording { $0.events.append(event) } }
    }

    /// Returns the failure of the next operation, or `nil` if it may succeed.
    func strike(_ operation: Operation) -> Fault.Effect? {
        self.state.withLock { state in
            guard let fault = state.fault, fault.operations.contains(operation) else { return nil }
            state.count += 1
            guard state.count == fault.number || fault.isLasting && state.count > fault.number else { return nil }
            state.hits += 1
            return fault.effect
        }
    }

    /// Records that a file was opened under this name.
    func opened(_ name: String) {
        let path = "\(self.directory)/\(name)"
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        self.state.withLock { state in
            guard state.isRecording else { return }
            let known = state.names[UInt64(status.st_ino)]
            guard known != name else { return }
            state.names[UInt64(status.st_ino)] = name
            if let known {
                state.events.append(.rename(known, to: name))
            } else if status.st_size == 0 {
                state.events.append(.create(name))
            } else {
                state.events.append(.adopt(name, FileBytes.read(path)))
            }
        }
    }

    /// Records a deletion and forgets the inode, which may be reused.
    func deleted(_ name: String) {
        self.state.withLock { state in
            state.names = state.names.filter { $0.value != name }
            if state.isRecording { state.events.append(.delete(name)) }
        }
    }
}

/// Reads and writes whole files.
public enum FileBytes {
    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    public static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "rb") else { return [] }
        defer { fclose(file) }
        var status = stat()
        fstat(fileno(file), &status)
        let size = Int(status.st_size)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = fread(buffer.baseAddress, 1, size, file)
        }
    }

    public static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "wb") else { preconditionFailure("cannot write \(path)") }
        defer { fclose(file) }
        precondition(fwrite(bytes, 1, bytes.count, file) == bytes.count, "cannot write all bytes of \(path)")
    }
}
