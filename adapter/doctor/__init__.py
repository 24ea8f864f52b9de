"""What an operator asks: this configuration, is it right, and what would it do?"""
