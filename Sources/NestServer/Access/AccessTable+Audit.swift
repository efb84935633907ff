import Logging
import NestEngine
import NestModel
import NestStore

/// Applies the engine's token changes to the table, and logs each change with the token that made it. Logs no secret.
extension AccessTable {
    func take(_ effects: [EngineEffect], _ logger: Logger) {
        for case .tokensChanged(let change, let by) in effects {
            self.take(change)
            let author = by.map { "token \($0)" } ?? "anonymous"
            switch change {
            case .created(let token):
                let grant = token.description.grant
                logger.notice(
                    "token.created",
                    metadata: [
                        "token": "\(token.description.number)",
                        "name": "\(LogText.printable(grant.name))",
                        "role": "\(grant.role)",
                        "root": "\(grant.confinement.map { "\($0.root)" } ?? "none")",
                        "user": "\(LogText.printable(grant.user))",
                        "expires": "\(grant.expires.map { DateText.text(microseconds: $0) } ?? "never")",
                        "by": "\(author)",
                    ]
                )
            case .revoked(let number):
                logger.notice("token.revoked", metadata: ["token": "\(number)", "by": "\(author)"])
            }
        }
    }
}
