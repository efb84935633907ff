/// The possible contents of a disk after a crash, computed by replaying the events of a `FaultyDisk` up to a cut.
///
/// After a kill of the process, all operations are on the disk. After a power loss, any part of the unsynced operations
/// is: each sector has its newest content, an older one, or garbage if it is torn, and an unsynced creation or deletion
/// of a file may or may not have happened.
public struct CrashStates {
    /// The number of bytes that a disk writes atomically.
    private static let sectorBytes = 512

    private struct File {
        /// The synced bytes.
        var bytes: [UInt8] = []
        /// The operations since the last sync.
        var pending: [FaultyDisk.Event] = []
    }

    private let events: [FaultyDisk.Event]
    /// The number of replayed events.
    public private(set) var position = 0
    private var files: [String: File] = [:]
    /// Files whose creation is not synced, and deleted files whose deletion is not synced.
    private var made: Set<String> = []
    private var deleted: [String: File] = [:]

    /// `isSynced`: whether a sync really syncs.
    private let isSynced: Bool

    /// `on`: files that were on the disk before.
    public init(_ events: [FaultyDisk.Event], on files: [String: [UInt8]] = [:], isSynced: Bool = true) {
        self.events = events
        self.files = files.mapValues { File(bytes: $0) }
        self.isSynced = isSynced
    }

    /// Replays events up to a cut, which must not be before the previous cut.
    public mutating func advance(to cut: Int) {
        while self.position < min(cut, self.events.count) {
            self.replay(self.events[self.position])
            self.position += 1
        }
    }

    private mutating func replay(_ event: FaultyDisk.Event) {
        switch event {
        case .create(let name):
            self.files[name] = File()
            self.made.insert(name)
        case .adopt(let name, let bytes):
            self.files[name] = File(bytes: bytes)
        case .write(let name, _, _), .truncate(let name, _):
            self.files[name, default: File()].pending.append(event)
        case .sync(let name):
            guard self.isSynced, var file = self.files[name] else { return }
            self.files[name] = nil
            for event in file.pending { Self.apply(event, to: &file.bytes) }
            file.pending.removeAll(keepingCapacity: true)
            self.files[name] = file
        case .syncDirectory:
            self.made = []
            self.deleted = [:]
        case .delete(let name):
            if !self.made.contains(name) { self.deleted[name] = self.files[name] }
            self.made.remove(name)
            self.files[name] = nil
        case .rename(let old, let new):
            self.files[new] = self.files.removeValue(forKey: old)
        }
    }

    private static func apply(_ event: FaultyDisk.Event, to bytes: inout [UInt8]) {
        switch event {
        case .write(_, let offset, let new): self.put(new[...], at: offset, in: &bytes)
        case .truncate(_, let size):
            if size < bytes.count {
                bytes.removeSubrange(size...)
            } else {
                bytes += [UInt8](repeating: 0, count: size - bytes.count)
            }
        default: preconditionFailure("only contents are pending")
        }
    }

    private static func put(_ new: ArraySlice<UInt8>, at offset: Int, in bytes: inout [UInt8]) {
        let end = offset + new.count
        if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
        bytes.replaceSubrange(offset..<end, with: new)
    }

    // MARK: States

    /// Returns the files after a kill of the process.
    public func killed() -> [String: [UInt8]] {
        self.files.mapValues { file in
            var bytes = file.bytes
            for event in file.pending { Self.apply(event, to: &bytes) }
            return bytes
        }
    }

    /// Returns only the synced files and bytes.
    public func durable() -> [String: [UInt8]] {
        self.files.filter { !self.made.contains($0.key) }.mapValues(\.bytes)
    }

    /// Returns random possible files after a power loss.
    public func powerLost(_ random: inout SeededRandom) -> [String: [UInt8]] {
        var state: [String: [UInt8]] = [:]
        let kept = random.below(101)
        let tears = random.below(3) == 0
        for (name, file) in self.files.sorted(by: { $0.key < $1.key }) {
            guard !self.made.contains(name) || random.below(2) == 0 else { continue }
            state[name] = Self.remains(file, kept: kept, tears: tears, &random)
        }
        for (name, file) in self.deleted.sorted(by: { $0.key < $1.key }) where state[name] == nil {
            if random.below(2) == 0 { state[name] = Self.remains(file, kept: kept, tears: tears, &random) }
        }
        return state
    }

    /// Returns the remaining bytes of a file. `kept`: the percentage of unsynced operations that reached the disk.
    private static func remains(_ file: File, kept: Int, tears: Bool, _ random: inout SeededRandom) -> [UInt8] {
        var bytes = file.bytes
        for event in file.pending {
            guard tears, case .write(_, let offset, let new) = event else {
                if random.below(100) < kept { self.apply(event, to: &bytes) }
                continue
            }
            var start = 0
            while start < new.count {
                // Sectors are aligned to the disk, not to the write.
                let end = min(new.count, ((offset + start) / self.sectorBytes + 1) * self.sectorBytes - offset)
                switch random.below(100) {
                case ..<kept: self.put(new[start..<end], at: offset + start, in: &bytes)
                case 99:
                    self.put(
                        ArraySlice((start..<end).map { _ in UInt8(random.below(256)) }),
                        at: offset + start,
                        in: &bytes
                    )
                default: break
                }
                start = end
            }
        }
        return bytes
    }
}
