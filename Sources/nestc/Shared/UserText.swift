import NestClient
import NestDocuments
import NestModel

/// How nestc shows users. `~` before a label marks a claim: a client without a token set it, and no server has checked
/// it.
enum UserText {
    /// Returns the label, escaped; empty: no user.
    static func text(_ user: UserLabel?) -> String {
        user.map { ($0.isClaimed ? "~" : "") + visible($0.text) } ?? ""
    }

    /// Returns whose a transaction is: `mine`, or `s2` for session 2, and its user: `s2 Ann`.
    static func whose(isMine: Bool, session: UInt64, _ user: UserLabel?) -> String {
        (isMine ? "mine" : "s\(session)") + (user == nil ? "" : " \(Self.text(user))")
    }

    /// Escapes what cannot be seen: control characters, and scalars without width, by which one label could look like
    /// another.
    static func visible(_ text: String) -> String {
        var shown = ""
        for scalar in escapingControls(text).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .format, .control, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Writes `user`, which is null if there is none, and `userClaimed`.
    static func write(_ user: UserLabel?, into json: inout JSONWriter) {
        json.key("user")
        if let user { json.string(user.text) } else { json.null() }
        json.field("userClaimed", user?.isClaimed == true)
    }
}
