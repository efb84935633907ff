import Foundation

extension String {
    /// Compares the UTF-8 bytes; the result is below 0 if this string is first. `memcmp` is used because an unoptimised
    /// Swift loop took half of the time of a run's check.
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
