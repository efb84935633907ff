import NestClient
import NestDocuments
import NestModel

/// How nestc shows users. `~` before a label marks a claim: a client without a token set it, and no server has checked
/// it.
enum UserText {
    /// Returns the label, escaped; empty: no user.
    static func text(_ user: UserLabel?) -> String { escapingControls(self.cell(user)) }

    /// Returns the label for a table, which escapes it; empty: no user.
    static func cell(_ user: UserLabel?) -> String {
        user.map { ($0.isClaimed ? "~" : "") + self.visible($0.text) } ?? ""
    }

    /// Returns whose a transaction is: `mine`, or `s2` for session 2, and its user: `s2 Ann`.
    static func whose(isMine: Bool, session: UInt64, _ user: UserLabel?) -> String {
        (isMine ? "mine" : "s\(session)") + (user == nil ? "" : " \(Self.text(user))")
    }

    /// Replaces scalars that cannot be seen, by which one label could look like another. Control characters stay:
    /// they are escaped where the label is printed.
    static func visible(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: shown += "\u{fffd}"
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
