/// The 64-bit FNV-1a hash (Fowler, Noll, Vo). Inlinable: other modules would call the iterator of an unknown type for
/// each byte.
@inlinable
package func fnv1a(_ bytes: some Sequence<UInt8>, seed: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
    var hash = seed
    for byte in bytes {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return hash
}
