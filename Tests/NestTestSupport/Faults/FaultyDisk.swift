import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// The disk under the SQLite files of one directory, as tests watch and break it: it writes down everything that is done to
/// the files, and can let the n-th operation fail. The files themselves are real.
///
/// It sees what SQLite does, through `FaultyFileSystem`; not what others do to the directory.
public final class FaultyDisk: Sendable {
    /// What was done to a file. Files have the name that they have in the directory.
    public enum Event: Sendable {
        case create(String)
        case write(String, offset: Int, [UInt8])
        case truncate(String, size: Int)
        /// What was done to the file before is on the disk.
        case sync(String)
        /// What files are there, and under which names, is on the disk.
        case syncDirectory
        case delete(String)
        /// Seen when the file is opened under its new name.
        case rename(String, to: String)
        /// A file that others made: whole and on the disk.
        case adopt(String, [UInt8])
    }

    public enum Operation: Hashable, Sendable, CaseIterable {
        case open, read, write, truncate, sync, delete, sharedMemory
    }

    /// Which operation fails, and how.
    public struct Fault: Sendable {
        public enum Effect: Sendable {
            /// ENOSPC: what is written is written by half.
            case full
            /// EIO.
            case inputOutput
        }

        public var operations: Set<Operation>
        /// The first is 1.
        public var number: Int
        public var effect: Effect
        /// Whether those after it fail too, until the fault is taken away.
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
        /// Operations of the fault's kinds since it was set.
        var count = 0
        var hits = 0
        /// The files that are known, by inode.
        var names: [UInt64: String] = [:]
        var isRecording = true
    }

    public let directory: String
    private let state = Mutex(State())

    /// `directory`: without symbolic links. Until the value goes.
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

    /// How often the fault has struck.
    public var hits: Int { self.state.withLock { $0.hits } }

    /// Sets the fault, or takes it away, and begins to count anew.
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

    /// What has become of an operation that is to be done now: `nil` when it may be done.
    func strike(_ operation: Operation) -> Fault.Effect? {
        self.state.withLock { state in
            guard let fault = state.fault, fault.operations.contains(operation) else { return nil }
            state.count += 1
            guard state.count == fault.number || fault.isLasting && state.count > fault.number else { return nil }
            state.hits += 1
            return fault.effect
        }
    }

    /// A file has been opened under this name.
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

    /// Inodes are used again.
    func deleted(_ name: String) {
        self.state.withLock { state in
            state.names = state.names.filter { $0.value != name }
            if state.isRecording { state.events.append(.delete(name)) }
        }
    }
}

/// Whole files at once.
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
        guard let file = fopen(path, "wb") else { preconditionFailure("\(path) can be written") }
        defer { fclose(file) }
        precondition(fwrite(bytes, 1, bytes.count, file) == bytes.count, "\(path) has room")
    }
}
