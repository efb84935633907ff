import NestModel
import NestTestSupport
import NestProtocol

extension CreateToken: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["hash": JSONValue(secret: self.secretHash), "grant": JSONValue(self.grant)]
    }
}

extension TokenCreated: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["number": .integer(Int64(self.number))] }
}

extension ListTokens: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { [:] }
}

extension TokenList: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "tokens": JSONValue(
                list: self.tokens.map { token in
                    [
                        "number": .integer(Int64(token.number)), "grant": JSONValue(token.grant),
                        "created": .integer(token.created), "lastUsed": .integer(token.lastUsed),
                        "connections": JSONValue(count: token.connections),
                    ]
                }
            )
        ]
    }
}

extension RevokeToken: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["number": .integer(Int64(self.number))] }
}

extension JSONValue {
    init(secret: TokenSecret) { self = .string(secret.high.hex + secret.low.hex) }

    init(confinement: AccessConfinement?) {
        guard let confinement else {
            self = .null
            return
        }
        self = [
            "root": .integer(confinement.root.rawValue), "entity": .integer(Int64(confinement.entity.rawValue)),
            "relationship": .integer(Int64(confinement.relationship.rawValue)),
        ]
    }

    fileprivate init(_ grant: TokenGrant) {
        var fields: [String: JSONValue] = [
            "name": .string(grant.name), "role": .string("\(grant.role)"),
            "confinement": JSONValue(confinement: grant.confinement),
            "connections": JSONValue(count: grant.limits.connections),
            "requestsInFlight": JSONValue(count: grant.limits.requestsInFlight),
            "subscriptions": JSONValue(count: grant.limits.subscriptions),
            "outputBytes": JSONValue(count: grant.limits.outputBytes),
        ]
        if !grant.user.isEmpty { fields["user"] = .string(grant.user) }
        if let expires = grant.expires { fields["expires"] = .integer(expires) }
        self = .object(fields)
    }
}
