/// The compiled regular expression of a `MATCHES`. The caller of a comparison gives it: only the server has RE2.
package protocol TextMatcher: AnyObject, Sendable {
    /// The number of instructions that each byte of a text may take.
    var instructionCount: Int { get }
    /// The estimated memory, in bytes.
    var byteCount: Int { get }

    /// Whether the whole text matches.
    func matches(_ text: String) -> Bool
}
