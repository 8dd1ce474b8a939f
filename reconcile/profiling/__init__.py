"""Profile datasets and suggest how to declare them: types, ids, money, personal data, and rules that find something."""
