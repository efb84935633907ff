import NestModel

/// Searches for bytes in others, with a table prepared once; linear in the searched bytes (Knuth, Morris and Pratt,
/// 1977). In UTF-8 a match always begins at the beginning of a scalar.
struct ByteSearch: Sendable {
    private let wanted: [UInt8]
    /// By index: the length of the longest proper prefix that ends there.
    private let borders: [Int]

    init(_ wanted: [UInt8]) {
        self.wanted = wanted
        var borders = [Int](repeating: 0, count: wanted.count)
        var length = 0
        for index in wanted.indices.dropFirst() {
            while length > 0, wanted[index] != wanted[length] { length = borders[length - 1] }
            if wanted[index] == wanted[length] { length += 1 }
            borders[index] = length
        }
        self.borders = borders
    }

    func isFound(in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !self.wanted.isEmpty else { return true }
        var length = 0
        for byte in bytes {
            while length > 0, byte != self.wanted[length] { length = self.borders[length - 1] }
            if byte == self.wanted[length] { length += 1 }
            if length == self.wanted.count { return true }
        }
        return false
    }
}
