/// A stack of numbers in bounded memory: numbers deeper than `BulkMemory.countMax` are in a spool file.
final class SpilledStack {
    private let directory: String
    /// At least two, so that half of them can be spilled.
    private let countMax: Int
    private var top: [Int64] = []
    private var file: SpoolFile?
    /// The count of numbers in the file.
    private var spilledCount = 0

    init(_ memory: BulkMemory) {
        self.directory = memory.directory
        self.countMax = max(memory.countMax, 2)
    }

    var count: Int { self.spilledCount + self.top.count }
    var isEmpty: Bool { self.count == 0 }
    /// The count of numbers in memory.
    var heldCount: Int { self.top.count }

    func push(_ number: Int64) throws(StoreError) {
        if self.top.count == self.countMax { try self.spill(self.countMax / 2) }
        self.top.append(number)
    }

    /// Removes and returns the top number; `nil` if the stack is empty.
    func pop() throws(StoreError) -> Int64? {
        if self.top.isEmpty { try self.refill() }
        return self.top.popLast()
    }

    private func spill(_ count: Int) throws(StoreError) {
        let file: SpoolFile
        if let open = self.file {
            file = open
        } else {
            file = try SpoolFile(directory: self.directory)
            self.file = file
        }
        try file.write(self.top[..<count], at: self.spilledCount)
        self.top.removeSubrange(..<count)
        self.spilledCount += count
    }

    private func refill() throws(StoreError) {
        guard self.spilledCount > 0, let file = self.file else { return }
        let count = min(self.spilledCount, self.countMax / 2)
        self.spilledCount -= count
        self.top = try file.numbers(count: count, at: self.spilledCount)
    }
}

extension SpoolFile {
    /// Writes numbers to a file that holds nothing else. `index` is counted in numbers.
    fileprivate func write(_ numbers: ArraySlice<Int64>, at index: Int) throws(StoreError) {
        let size = MemoryLayout<Int64>.size
        let result = numbers.withUnsafeBytes { buffer -> Result<Void, StoreError> in
            do throws(StoreError) {
                try self.write(buffer, at: index * size)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    fileprivate func numbers(count: Int, at index: Int) throws(StoreError) -> [Int64] {
        let size = MemoryLayout<Int64>.size
        let bytes = try self.read(count: count * size, at: index * size)
        return bytes.withUnsafeBytes { buffer in
            (0..<count).map { buffer.loadUnaligned(fromByteOffset: $0 * size, as: Int64.self) }
        }
    }
}
