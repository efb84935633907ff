import Foundation

extension String {
    /// Below 0: before the other by the bytes of UTF-8. Byte by byte in Swift, without optimisation, this took half of the time
    /// that the check of a run takes.
    func byteOrder(to other: String) -> Int {
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard let a = left.baseAddress, let b = right.baseAddress else { return left.count - right.count }
                let order = memcmp(a, b, min(left.count, right.count))
                return order == 0 ? left.count - right.count : Int(order)
            }
        }
    }
}
